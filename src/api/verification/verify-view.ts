import { developmentSentence, laterStatusSentence, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import { hashNameOf, type Imprint } from '../../shared/domain/stamp.ts';
import { matchWords, otherVerdict } from '../../shared/proof/verdict-words.js';
import { count } from '../../shared/views/format.ts';
import { markOf } from './marks.ts';
import type { ProvedStamp, TokenDetails } from './stamp-model.ts';
import type { VerdictShown, VerifyPage } from './verify-model.ts';

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
  const stamp = stampOf(verdict);
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
  const stamp = stampOf(verdict);
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

const stampOf = (verdict: VerdictShown): ProvedStamp | null => (verdict.kind === 'proved' ? verdict.stamp : null);

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
