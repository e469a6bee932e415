import { verifyPath } from '../../shared/domain/addresses.ts';
import { developmentSentence, laterStatusSentence, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import { adviceOf, type ReasonCode, reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import { hashNameOf, type Proof } from '../../shared/domain/stamp.ts';
import { tokenShown } from '../../shared/domain/token.ts';
import { otherVerdict } from '../../shared/proof/verdict-words.js';
import { statedBy, type TrustedToken } from '../../shared/trust/judge.ts';
import { count } from '../../shared/views/format.ts';
import { markOf, type StampJudgement } from './stamp-judge.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly verify: ReturnType<typeof verifyViewOf>;
    /** `asked`: the fields of a form sent without JavaScript, and the answer; null if the page was only opened. */
    readonly 'verify-form': ReturnType<typeof verifyFormViewOf> | { readonly asked: null };
  }
}

/** The facts of the page at `verify_url` (V8). */
export interface StampPage {
  readonly tokenId: string;
  /** The absolute URL of this page. */
  readonly address: string;
  readonly judgement: StampJudgement;
  /** Undefined if there is no stamp. */
  readonly proofKind: Proof['kind'] | undefined;
  readonly shownAt: string;
}

/** Makes the model of the page at `verify_url`. Files for other verifiers are offered if there was an exchange with a TSA. */
export function verifyViewOf({ tokenId, address, judgement, proofKind, shownAt }: StampPage) {
  const isBatched = proofKind === 'leaf';
  const [ofRoot, file] = isBatched ? [' for the root of the batch', 'batch-root'] : ['', ''];
  const downloads = {
    tsr: `response${ofRoot} (${file}.tsr)`,
    tsq: `request${ofRoot} (${file}.tsq)`,
    token: `token${ofRoot} (${file}.tst)`,
    evidence: 'evidence record (.ers)',
  };
  const imprint = judgement.ok ? judgement.imprint : undefined;
  return {
    ...{ tokenId, address, shownAt, isBatched },
    verdict: { ...wordsOf(judgement), heading: 'h1', imprint, mayBeOfBatch: false, other: null },
    stamp: judgement.ok ? stampViewOf(judgement) : null,
    downloads:
      isBatched || proofKind === 'token'
        ? Object.entries(downloads).map(([part, name]) => ({ name, url: `${verifyPath(tokenId)}/${part}` }))
        : [],
  };
}

/** Makes the model of the answer to a pasted token. `hash`: empty if none was given. */
export function verifyFormViewOf({ token, hash, judgement }: { token: string; hash: string; judgement: StampJudgement }) {
  const words = wordsOf(judgement);
  const stated = judgement.ok ? statedBy(judgement) : undefined;
  const { imprint, mayBeOfBatch = false } = stated ?? {};
  const compared = { isTest: words.kind === 'test', mayBeOfBatch };
  const isSame = hash === imprint?.digest;
  // verify.js shows the same after a comparison.
  const other = imprint && hash !== '' && !isSame ? otherVerdict('hash', compared) : null;
  const sentence = { ...words.sentence, before: `${other?.remark ?? ''}${words.sentence.before}` };
  return {
    asked: {
      ...{ token, hash },
      match: isSame ? { isTest: compared.isTest } : null,
      verdict: { ...words, sentence, heading: 'h2', imprint, mayBeOfBatch, other },
      stamp: judgement.ok ? stampViewOf(judgement) : null,
    },
  };
}

/** These codes mean that the request was accepted, but no stamp was made. */
const notMade: readonly ReasonCode[] = ['request_refused', 'tier_unavailable', 'stamp_failed'];

/** The verdict in words. The time, if there is one, stands after `sentence.before`, which may contain CommonMark `code`. */
function wordsOf(judgement: StampJudgement) {
  if (judgement.ok) return provedWords(judgement);
  const { code, advice = adviceOf(code), qualification } = judgement;
  const reason = reasonOf(code);
  const says = (kind: string, icon: string, title: string, before: string) => ({ kind, icon, title, sentence: { before } });
  if (code === 'unknown_token_id') {
    const before =
      'We have no stamp with this id. If somebody gave you this address as evidence, it proves nothing. Ask for the file and its token.';
    return says('unknown', 'cross', 'No such stamp', before);
  }
  if (notMade.includes(code)) {
    return { ...says('not_made', 'cross', 'There is no stamp', 'It was requested but never made. This address proves nothing.'), reason };
  }
  if (verdictOf(code) === 'not_valid') {
    const before = 'It was checked just now and refused. It proves nothing.';
    return { ...says('refused', 'cross', 'This stamp is not valid', before), reason, advice };
  }
  return {
    ...says('not_proved', 'warning', 'This stamp is not proved', 'It is not proved here, for this reason:'),
    ...{ reason, advice: advice ?? 'It may be valid: verify it with your own trust anchors.' },
    qualification: qualification && qualificationViewOf(qualification, false),
  };
}

/** `test`: a stamp for trials. It is also verified, but it proves nothing to a third party. */
function provedWords(token: TrustedToken) {
  const { issuedAt: stampedAt, qualification, verified } = token;
  const trial = trialOf(qualification);
  if (trial === 'development') {
    const before = `${developmentSentence} It proves nothing to a third party. It says that data with the fingerprint below existed no later than `;
    return { kind: 'test', icon: 'warning', title: 'This is a development time-stamp', sentence: { before, stampedAt, after: '.' } };
  }
  if (trial === 'mock') {
    const before = 'It proves nothing to a third party: it comes from the provider `mock`, which is for testing.';
    return { kind: 'test', icon: 'warning', title: 'This is a test stamp', sentence: { before } };
  }
  const seconds = verified && tokenShown(verified).accuracy_seconds;
  const accuracy = seconds ? `, give or take ${seconds} s` : '';
  const provider = providerOf(token);
  const whom = provider === null ? 'the time-stamping authority named below' : `the provider ${provider}`;
  const before = 'Data with the fingerprint below existed no later than ';
  return {
    ...{ kind: 'proved', icon: 'check', title: 'This stamp is valid' },
    sentence: { before, stampedAt, after: `${accuracy}, if you trust ${whom}.` },
    qualification: qualificationViewOf(qualification, isTypeKnown(token)),
  };
}

/** Without a list, nobody here knows whether a TSA that is not configured is qualified. */
const isTypeKnown = (token: TrustedToken): boolean => providerOf(token) !== null || token.qualification.basis === 'list';

/** Null if the trust anchor of the token does not belong to a configured provider. */
const providerOf = ({ isProviderKnown, provider }: TrustedToken): string | null => (isProviderKnown ? (provider ?? null) : null);

/** `hasEffect`: whether the page says what a court does with a stamp that is not qualified. The reason is then in the details. */
const qualificationViewOf = (qualification: Qualification, hasEffect: boolean) => ({
  qualification,
  isEffect: hasEffect && qualification.status === 'not_qualified',
  later: laterStatusSentence(qualification.listed),
});

/** What was stamped, and by whom. A token of the mock provider has no details. */
function stampViewOf(token: TrustedToken) {
  const { issuedAt: stampedAt, imprint, qualification, verified } = token;
  const shown = verified && tokenShown(verified);
  const notChecked = shown ? [...shown.not_checked, ...(qualification.notChecked ?? [])] : [];
  return {
    ...{ imprint, hashName: hashNameOf(imprint.algorithm), stampedAt, provider: providerOf(token), qualification },
    accuracy: shown ? accuracyText(shown.accuracy_seconds) : '',
    mark: markOfProved(qualification),
    whyNotQualified: qualification.status === 'not_qualified' && isTypeKnown(token) ? qualification : null,
    details: verified &&
      shown && {
        ...{
          policy: shown.policy,
          serial: verified.serial,
          signedBy: shown.signer.subject,
          certificatesEndedAt: shown.certificates_ended_at,
        },
        chain: verified.chain.map(({ subject, fingerprint, notBefore, notAfter }, i) => ({
          ...{ subject, fingerprint, validFrom: notBefore.toISOString(), validUntil: notAfter.toISOString() },
          isTrustAnchor: i === verified.chain.length - 1,
          revocation: shown.revocation.find(({ sha256 }) => sha256 === fingerprint),
        })),
        record: verified.record && {
          renewed: renewedText(verified.record.tokens.length - 1),
          holdsUntil: verified.record.holdsUntil.toISOString(),
        },
      },
    notChecked: notChecked.map((phrase) => phrase.charAt(0).toUpperCase() + phrase.slice(1).replace(/\.?$/, '.')),
  };
}

/** The end of the sentence that begins with the time. */
const accuracyText = (seconds: number | null): string => (seconds === null ? '; no accuracy is stated' : `, to within ${seconds} s`);

/** The verdict above says it if a stamp is not qualified. */
function markOfProved(qualification: Qualification) {
  if (trialOf(qualification)) return markOf('test', null);
  return qualification.status === 'qualified' ? markOf('qualified', qualification.basis) : null;
}

function renewedText(renewals: number): string {
  if (renewals === 0) return 'Not renewed yet.';
  return renewals === 1 ? 'Renewed once.' : `Renewed ${count(renewals)} times.`;
}
