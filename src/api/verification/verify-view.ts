import { developmentSentence, laterStatusSentence, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import { hashNameOf, type Imprint } from '../../shared/domain/stamp.ts';
import type { ToldRevocation } from '../../shared/domain/token.ts';
import { matchWords, otherVerdict } from '../../shared/proof/verdict-words.js';
import { count } from '../../shared/views/format.ts';

/** The verdict on one stamp, for people. */
export type VerdictShown =
  | { readonly kind: 'proved'; readonly stamp: ProvedStamp }
  /**
   * `reason` is the same as in the JSON answer. `not_proved`: no fault was found, but the token's chain does not lead to a trust anchor of this
   * installation, or data for verification is missing (V11).
   */
  | {
      readonly kind: 'refused' | 'not_proved';
      readonly reason: string;
      /** A sentence that tells the reader how to continue. */
      readonly advice: string | null;
      /** What a trusted list says about the service that signed it, if a list has this service but does not grant it; otherwise null. */
      readonly qualification: Qualification | null;
    }
  /** No stamp has this id. */
  | { readonly kind: 'unknown' }
  /** The request was accepted, but then every TSA refused it or the stamp could not be made. */
  | { readonly kind: 'not_made'; readonly reason: string };

/** The facts of the page at `verify_url`. */
export interface VerifyPage {
  readonly tokenId: string;
  /** The absolute URL of this page. */
  readonly address: string;
  readonly verdict: VerdictShown;
  /** Files for other verifiers; empty for the mock provider and for an id without a stamp. */
  readonly downloads: readonly { readonly name: 'tsr' | 'tsq' | 'token' | 'evidence'; readonly url: string }[];
  /**
   * True if the stamp was made in a batch. The files are then for the root of the batch, except the evidence record, which leads from the stamp to
   * this root.
   */
  readonly isBatched: boolean;
  readonly shownAt: string;
}

/** The result of verifying the stored token for this answer. */
export type StampVerdict =
  /** The token is valid and agrees with the stored record: provider, time and imprint are as in the token. */
  | { readonly kind: 'proved' }
  /** `reason` is a code, a colon and one sentence. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The chain of its signer does not lead to a trust anchor of this installation, or data for verification is missing. */
  | { readonly kind: 'not_proved' };

/** A stamp and its verdict. If the verdict is not `proved`, the other members are only recorded, and the page must not state them as facts. */
export interface StampMark {
  readonly tokenId: string;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
  /** Who says that it is qualified or not, and why; null if the verdict is not `proved`. */
  readonly qualification: Qualification | null;
  readonly verifyUrl: string;
  readonly verdict: StampVerdict;
}

/** A certificate as shown to people. The subject is only a name that the issuer wrote; the fingerprint identifies the certificate. */
interface CertificateShown {
  readonly subject: string;
  /** SHA-256 of the DER, lower-case hex. */
  readonly fingerprint: string;
  readonly validFrom: string;
  readonly validUntil: string;
  /** Null if revocation was not checked, as for a trust anchor that did not sign the token. */
  readonly revocation: ToldRevocation | null;
}

/** The contents of an RFC 3161 token without time and imprint, and its certificates. */
export interface TokenDetails {
  /** Dotted OID. */
  readonly policy: string;
  /** Null if the token has no accuracy. */
  readonly accuracySeconds: number | null;
  /** The serial number of the token, decimal. */
  readonly serial: string;
  /** From the signer's certificate to the trust anchor. */
  readonly chain: readonly CertificateShown[];
  /** Facts that were not checked, except the file, in the same words as in the API and the command. */
  readonly notChecked: readonly string[];
  /** When the first certificate of the chain expired; null if all are still valid. */
  readonly certificatesEndedAt: string | null;
  /** Null if the evidence is a token, not an evidence record (RFC 4998). */
  readonly record: EvidenceRecordDetails | null;
}

interface EvidenceRecordDetails {
  /** The number of tokens: the first token and those of its renewals. */
  readonly tokens: number;
  /** The evidence must be renewed before this time. */
  readonly holdsUntil: string;
}

/** The facts that a valid token proves. */
export interface ProvedStamp {
  readonly stampedAt: string;
  /** Null if the trust anchor of the token does not belong to a configured provider. */
  readonly provider: string | null;
  readonly qualification: Qualification;
  readonly imprint: Imprint;
  /** Null for a token of the mock provider, which has no certificates. */
  readonly details: TokenDetails | null;
}

declare module '../http/views.ts' {
  interface PageModels {
    readonly verify: ReturnType<typeof verifyViewOf>;
    /** `asked`: the fields of a form sent without JavaScript, and the answer; null if the page was only opened. */
    readonly 'verify-form': ReturnType<typeof verifyFormViewOf> | { readonly asked: null };
  }
}

interface VerdictView extends VerdictWords {
  /** On the page of one stamp, the verdict is the headline. */
  readonly heading: 'h1' | 'h2';
  /** Of a proved stamp, for the script that compares files with it. */
  readonly imprint: Imprint | undefined;
  /** Whether the token may be for the root of a batch, and so for any file (S14). */
  readonly mayBeOfBatch: boolean;
  /** The first words if the given hash is not the stamped one. verify.js shows the same after a comparison. */
  readonly other: ReturnType<typeof otherVerdict> | null;
}

interface VerdictWords {
  /** `test`: a stamp for trials. It is also verified, but it proves nothing to a third party. */
  readonly kind: VerdictShown['kind'] | 'test';
  readonly icon: string;
  readonly title: string;
  /** The time, if there is one, stands after `before`, which may contain CommonMark `code`. */
  readonly sentence: { readonly before: string; readonly stampedAt?: string; readonly after?: string };
  readonly reason?: string;
  readonly advice?: string | null;
  readonly qualification?: QualificationView | null;
}

interface QualificationView {
  readonly qualification: Qualification;
  /** Further sentences. */
  readonly more: readonly string[];
}

/** Makes the model of the page at `verify_url`. */
export function verifyViewOf({ verdict, downloads, ...page }: VerifyPage) {
  const [ofRoot, file] = page.isBatched ? [' for the root of the batch', 'batch-root'] : ['', ''];
  const names = {
    tsr: `response${ofRoot} (${file}.tsr)`,
    tsq: `request${ofRoot} (${file}.tsq)`,
    token: `token${ofRoot} (${file}.tst)`,
    evidence: 'evidence record (.ers)',
  };
  const stamp = provedStampIn(verdict);
  const imprint = stamp?.imprint;
  return {
    ...page,
    verdict: { ...wordsOf(verdict), heading: 'h1', imprint, mayBeOfBatch: false, other: null } satisfies VerdictView,
    stamp: stamp && stampViewOf(stamp),
    downloads: downloads.map(({ name, url }) => ({ name: names[name], url })),
  };
}

/** Makes the model of the answer to a pasted token. `hash`: empty if none was given. */
export function verifyFormViewOf({ token, hash, verdict }: { token: string; hash: string; verdict: VerdictShown }) {
  const words = wordsOf(verdict);
  const stamp = provedStampIn(verdict);
  const imprint = stamp?.imprint;
  const compared = { isTest: words.kind === 'test', mayBeOfBatch: stamp?.details?.record === null };
  const isSame = hash === imprint?.digest;
  const other = imprint && hash !== '' && !isSame ? otherVerdict('hash', compared) : null;
  const sentence = { ...words.sentence, before: `${other?.remark ?? ''}${words.sentence.before}` };
  return {
    asked: {
      ...{ token, hash },
      match: isSame ? { isTest: compared.isTest, words: matchWords('hash', compared) } : null,
      verdict: { ...words, sentence, heading: 'h2', imprint, mayBeOfBatch: compared.mayBeOfBatch, other } satisfies VerdictView,
      stamp: stamp && stampViewOf(stamp),
    },
  };
}

const provedStampIn = (verdict: VerdictShown): ProvedStamp | null => (verdict.kind === 'proved' ? verdict.stamp : null);

function wordsOf(verdict: VerdictShown): VerdictWords {
  const { kind } = verdict;
  const says = (icon: string, title: string, before: string) => ({ kind, icon, title, sentence: { before } });
  switch (kind) {
    case 'proved':
      return provedWords(verdict.stamp);
    case 'refused': {
      const { reason, advice } = verdict;
      return { ...says('cross', 'This stamp is not valid', 'It was checked just now and refused. It proves nothing.'), reason, advice };
    }
    case 'not_made': {
      const { reason } = verdict;
      return { ...says('cross', 'There is no stamp', 'It was requested but never made. This address proves nothing.'), reason };
    }
    case 'unknown':
      return says(
        'cross',
        'No such stamp',
        'We have no stamp with this id. If somebody gave you this address as evidence, it proves nothing. Ask for the file and its token.',
      );
    case 'not_proved': {
      const { reason, advice, qualification } = verdict;
      return {
        ...says('warning', 'This stamp is not proved', 'It is not proved here, for this reason:'),
        ...{ reason, advice: advice ?? 'It may be valid: verify it with your own trust anchors.' },
        qualification: qualification && qualificationViewOf(qualification, false),
      };
    }
  }
}

function provedWords({ stampedAt, provider, qualification, details }: ProvedStamp): VerdictWords {
  const trial = trialOf(qualification);
  if (trial === 'development') {
    const before = `${developmentSentence} It proves nothing to a third party. It says that data with the fingerprint below existed no later than `;
    return { kind: 'test', icon: 'warning', title: 'This is a development time-stamp', sentence: { before, stampedAt, after: '.' } };
  }
  if (trial === 'mock') {
    const before = 'It proves nothing to a third party: it comes from the provider `mock`, which is for testing.';
    return { kind: 'test', icon: 'warning', title: 'This is a test stamp', sentence: { before } };
  }
  const accuracy = details?.accuracySeconds ? `, give or take ${details.accuracySeconds} s` : '';
  const whom = provider === null ? 'the time-stamping authority named below' : `the provider ${provider}`;
  const before = 'Data with the fingerprint below existed no later than ';
  return {
    ...{ kind: 'proved', icon: 'check', title: 'This stamp is valid' },
    sentence: { before, stampedAt, after: `${accuracy}, if you trust ${whom}.` },
    // Without a list, nobody here knows whether another TSA is qualified.
    qualification: qualificationViewOf(qualification, provider !== null || qualification.basis === 'list'),
  };
}

/** `hasEffect`: whether the page also says what a court does with a stamp that is not qualified. */
const qualificationViewOf = (qualification: Qualification, hasEffect: boolean): QualificationView => ({
  qualification,
  more: [
    qualification.status === 'not_qualified' && hasEffect
      ? 'It is evidence, but no court has to accept the time automatically (eIDAS, Article 41(2)).'
      : [],
    laterStatusSentence(qualification.listed) ?? [],
  ].flat(),
});

/** What was stamped, and by whom. */
const stampViewOf = ({ imprint, stampedAt, provider, qualification, details }: ProvedStamp) => ({
  ...{ imprint, hashName: hashNameOf(imprint.algorithm), stampedAt, provider },
  accuracy: accuracyOf(details),
  mark: markOfProved(qualification),
  isClaimedByToken: qualification.isClaimedByToken,
  details: details && tokenViewOf(details),
  notChecked: (details?.notChecked ?? []).map((phrase) => phrase.charAt(0).toUpperCase() + phrase.slice(1).replace(/\.?$/, '.')),
});

/** The end of the sentence that begins with the time. */
function accuracyOf(details: TokenDetails | null): string {
  if (!details) return '';
  return details.accuracySeconds === null ? '; no accuracy is stated' : `, to within ${details.accuracySeconds} s`;
}

/** The verdict above says it if a stamp is not qualified. */
function markOfProved(qualification: Qualification) {
  if (trialOf(qualification)) return markOf('test', null);
  return qualification.status === 'qualified' ? markOf('qualified', qualification.basis) : null;
}

const tokenViewOf = ({ chain, record, ...details }: TokenDetails) => ({
  ...details,
  signedBy: chain[0]?.subject,
  chain: chain.map((certificate, i) => ({ ...certificate, isTrustAnchor: i === chain.length - 1 })),
  record: record && { renewed: renewedText(record.tokens - 1), holdsUntil: record.holdsUntil },
});

function renewedText(renewals: number): string {
  if (renewals === 0) return 'Not renewed yet.';
  return renewals === 1 ? 'Renewed once.' : `Renewed ${count(renewals)} times.`;
}

const words = {
  qualified: { icon: 'check', text: 'Qualified' },
  not_qualified: { icon: 'warning', text: 'Not qualified' },
  test: { icon: 'warning', text: 'Test stamp' },
  not_asked: { icon: 'pending', text: 'Not asked yet' },
  refused: { icon: 'cross', text: 'Does not verify' },
  not_proved: { icon: 'warning', text: 'Not proved' },
};

/** The mark beside the name of a provider, on every page. */
export interface MarkShown {
  readonly name: keyof typeof words;
  readonly icon: string;
  readonly text: string;
  /** Whether only the operator calls it qualified, and no trusted list. */
  readonly isClaimed: boolean;
}

export function markOf(name: MarkShown['name'], basis: Qualification['basis'] | undefined): MarkShown {
  const { icon, text } = words[name];
  const isClaimed = name === 'qualified' && basis === 'operator';
  return { name, icon, text: isClaimed ? `${text}, claimed by the operator` : text, isClaimed };
}

export function markOfStamp({ verdict, qualification, isQualified }: StampMark): MarkShown {
  if (verdict.kind !== 'proved') return markOf(verdict.kind, null);
  if (trialOf(qualification)) return markOf('test', null);
  return markOf(isQualified ? 'qualified' : 'not_qualified', qualification?.basis);
}
