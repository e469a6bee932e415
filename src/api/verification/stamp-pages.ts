import { verifyPath } from '../../shared/domain/addresses.ts';
import { developmentSentence, laterStatusWords, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import { adviceOf, type ReasonCode, reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import { hashNameOf, type Proof } from '../../shared/domain/stamp.ts';
import { notCheckedPhrases, tokenShown } from '../../shared/domain/token.ts';
import { otherVerdict } from '../../shared/proof/verdict-words.js';
import { statedBy, type TrustedToken } from '../../shared/trust/judge.ts';
import { raw, type Words } from '../../shared/views/format.ts';
import { markOf, type StampJudgement } from './stamp-judge.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly verify: ReturnType<ReturnType<typeof verifyViewOf>>;
    /** `asked`: the fields of a form sent without JavaScript, and the answer; null if the page was only opened. */
    readonly 'verify-form': ReturnType<ReturnType<typeof verifyFormViewOf>> | { readonly asked: null };
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
export const verifyViewOf =
  ({ tokenId, address, judgement, proofKind, shownAt }: StampPage) =>
  (words: Words) => {
    const { t } = words;
    const isBatched = proofKind === 'leaf';
    const downloads = isBatched
      ? {
          tsr: t('response for the root of the batch (batch-root.tsr)'),
          tsq: t('request for the root of the batch (batch-root.tsq)'),
          token: t('token for the root of the batch (batch-root.tst)'),
          evidence: t('evidence record (.ers)'),
        }
      : { tsr: t('response (.tsr)'), tsq: t('request (.tsq)'), token: t('token (.tst)'), evidence: t('evidence record (.ers)') };
    const imprint = judgement.ok ? judgement.imprint : undefined;
    return {
      ...{ tokenId, address, shownAt, isBatched },
      verdict: { ...verdictWordsOf(judgement, words), heading: 'h1', imprint, mayBeOfBatch: false, other: null },
      stamp: judgement.ok ? stampViewOf(judgement, words) : null,
      downloads:
        isBatched || proofKind === 'token'
          ? Object.entries(downloads).map(([part, name]) => ({ name, url: `${verifyPath(tokenId)}/${part}` }))
          : [],
    };
  };

/** Makes the model of the answer to a pasted token. `hash`: empty if none was given. */
export const verifyFormViewOf =
  ({ token, hash, judgement }: { token: string; hash: string; judgement: StampJudgement }) =>
  (words: Words) => {
    const { t, tHtml } = words;
    const verdict = verdictWordsOf(judgement, words);
    const stated = judgement.ok ? statedBy(judgement) : undefined;
    const { imprint, mayBeOfBatch = false } = stated ?? {};
    const compared = { isTest: verdict.kind === 'test', mayBeOfBatch };
    const isSame = hash === imprint?.digest;
    // verify.js shows the same after a comparison.
    const other = imprint && hash !== '' && !isSame ? otherVerdict('hash', compared) : null;
    return {
      asked: {
        ...{ token, hash },
        match: isSame ? { isTest: compared.isTest } : null,
        verdict: {
          ...verdict,
          sentence: `${other?.remark ? `${tHtml(other.remark)} ` : ''}${verdict.sentence}`,
          ...{ heading: 'h2', imprint, mayBeOfBatch },
          other: other && { title: t(other.title), sentence: t(other.sentence) },
        },
        stamp: judgement.ok ? stampViewOf(judgement, words) : null,
      },
    };
  };

/** These codes mean that the request was accepted, but no stamp was made. */
const notMade: readonly ReasonCode[] = ['request_refused', 'tier_unavailable', 'stamp_failed'];

/** The verdict in words. `sentence` is HTML. Reasons are in English, as programs get them. */
function verdictWordsOf(judgement: StampJudgement, words: Words) {
  if (judgement.ok) return provedWords(judgement, words);
  const { t, tHtml } = words;
  const { code, advice = adviceOf(code), qualification } = judgement;
  const reason = reasonOf(code);
  const says = (kind: string, icon: string, title: string, sentence: string) => ({ kind, icon, title, sentence });
  if (code === 'unknown_token_id') {
    const sentence = tHtml(
      'We have no stamp with this id. If somebody gave you this address as evidence, it proves nothing. Ask for the file and its token.',
    );
    return says('unknown', 'cross', t('No such stamp'), sentence);
  }
  if (notMade.includes(code)) {
    const sentence = tHtml('It was requested but never made. This address proves nothing.');
    return { ...says('not_made', 'cross', t('There is no stamp'), sentence), reason };
  }
  if (verdictOf(code) === 'not_valid') {
    const sentence = tHtml(
      'It was checked just now and refused. It proves nothing. If somebody gave it to you as evidence, ask for the file and its stamp again.',
    );
    return { ...says('refused', 'cross', t('This stamp is not valid'), sentence), reason, advice };
  }
  return {
    ...says('not_proved', 'warning', t('This stamp is not proved'), tHtml('It is not proved here, for this reason:')),
    ...{ reason, advice: advice ?? t('It may be valid: verify it with your own trust anchors.') },
    qualification: qualification && qualificationViewOf(qualification, false, words),
  };
}

/** `test`: a stamp for trials. It is also verified, but it proves nothing to a third party. */
function provedWords(token: TrustedToken, words: Words) {
  const { t, tHtml, stampTime } = words;
  const { issuedAt, qualification, verified } = token;
  const trial = trialOf(qualification);
  const time = raw(`<strong data-local>${stampTime(issuedAt)}</strong>`);
  if (trial === 'development') {
    const said = tHtml('It proves nothing to a third party. It says that data with the fingerprint below existed no later than {time}.', {
      time,
    });
    const sentence = `${tHtml(developmentSentence)} ${said}`;
    return { kind: 'test', icon: 'warning', title: t('This is a development time-stamp'), sentence };
  }
  if (trial === 'mock') {
    const sentence = tHtml('It proves nothing to a third party: it comes from the provider `mock`, which is for testing.');
    return { kind: 'test', icon: 'warning', title: t('This is a test stamp'), sentence };
  }
  const seconds = verified && tokenShown(verified).accuracy_seconds;
  const provider = providerOf(token);
  const values = {
    time,
    accuracy: seconds ? t(', give or take {seconds} s', { seconds }) : '',
    whom: provider === null ? t('the time-stamping authority named below') : t('the provider {provider}', { provider }),
  };
  return {
    ...{ kind: 'proved', icon: 'check', title: t('This stamp is valid') },
    sentence: tHtml('Data with the fingerprint below existed no later than {time}{accuracy}, if you trust {whom}.', values),
    qualification: qualificationViewOf(qualification, isTypeKnown(token), words),
  };
}

/** Without a list, nobody here knows whether a TSA that is not configured is qualified. */
const isTypeKnown = (token: TrustedToken): boolean => providerOf(token) !== null || token.qualification.basis === 'list';

/** Null if the trust anchor of the token does not belong to a configured provider. */
const providerOf = ({ isProviderKnown, provider }: TrustedToken): string | null => (isProviderKnown ? (provider ?? null) : null);

/** `hasEffect`: whether the page says what a court does with a stamp that is not qualified. The reason is then in the details. */
function qualificationViewOf(qualification: Qualification, hasEffect: boolean, { language, t }: Words) {
  const later = laterStatusWords(qualification.listed, language);
  return {
    qualification,
    isEffect: hasEffect && qualification.status === 'not_qualified',
    later: later && t(later.text, later.values),
  };
}

/** What was stamped, and by whom. A token of the mock provider has no details. */
function stampViewOf(token: TrustedToken, words: Words) {
  const { issuedAt: stampedAt, imprint, qualification, verified } = token;
  const shown = verified && tokenShown(verified);
  return {
    ...{ imprint, hashName: hashNameOf(imprint.algorithm), stampedAt, provider: providerOf(token), qualification },
    accuracy: shown ? accuracyText(shown.accuracy_seconds, words) : '',
    mark: markOfProved(qualification, words),
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
          renewed: renewedText(verified.record.tokens.length - 1, words),
          holdsUntil: verified.record.holdsUntil.toISOString(),
        },
      },
    notChecked: verified ? notCheckedPhrases(verified).map(({ text, values }) => notCheckedSentence(text, values, words)) : [],
    /** What is unsure about trusted lists, as programs get it. */
    notCheckedInLists: (shown && qualification.notChecked) ?? [],
  };
}

/** Makes a sentence of a phrase. */
function notCheckedSentence(phrase: string, values: Readonly<Record<string, string>>, { t }: Words): string {
  const sentence = phrase.charAt(0).toUpperCase() + phrase.slice(1).replace(/\.?$/, '.');
  return t(sentence, { ...values, reason: t(values.reason ?? '') });
}

/** The end of the sentence that begins with the time. */
const accuracyText = (seconds: number | null, { t }: Words): string =>
  seconds === null ? t('; no accuracy is stated') : t(', to within {seconds} s', { seconds });

/** The verdict above says it if a stamp is not qualified. */
function markOfProved(qualification: Qualification, words: Words) {
  if (trialOf(qualification)) return markOf('test', null, words);
  return qualification.status === 'qualified' ? markOf('qualified', qualification.basis, words) : null;
}

const renewedText = (renewals: number, { t, tCount }: Words): string =>
  renewals === 0 ? t('Not renewed yet.') : tCount(renewals, 'Renewed once.', 'Renewed {count} times.');
