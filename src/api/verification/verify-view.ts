import { developmentSentence, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import { laterStatusSentence } from '../../shared/domain/qualified-sentence.ts';
import { hashNameOf, type Imprint } from '../../shared/domain/stamp.ts';
import { count } from '../../shared/views/format.ts';
import { type MarkShown, markOf } from './marks.ts';
import type { ProvedStamp, TokenDetails } from './stamp-model.ts';
import type { VerdictShown, VerifyPage } from './verify-model.ts';

declare module '../server/views.ts' {
  interface PageModels {
    readonly verify: VerifyView;
    readonly 'verify-form': VerifyFormView;
  }
}

/** The page at `verify_url`: its facts, and what the page says about them. */
interface VerifyView extends Omit<VerifyPage, 'verdict' | 'downloads'> {
  readonly verdict: VerdictView;
  /** Null if no stamp is proved. */
  readonly stamp: StampView | null;
  readonly downloads: readonly { readonly name: string; readonly url: string }[];
}

/** The page `/verify`, for a file and its stamp, or for a pasted token. */
interface VerifyFormView {
  /** The fields of a form sent without JavaScript, and the answer; null if the page was only opened. */
  readonly asked: {
    readonly token: string;
    readonly hash: string;
    readonly verdict: VerdictView;
    readonly stamp: StampView | null;
    /** Whether the given hash is the stamped one. */
    readonly isSame: boolean;
  } | null;
}

interface VerdictView {
  /** `test`: a stamp for trials. It is also verified, but it proves nothing to a third party. */
  readonly kind: VerdictShown['kind'] | 'test';
  readonly icon: string;
  readonly title: string;
  /** On the page of one stamp, the verdict is the headline. */
  readonly heading: 'h1' | 'h2';
  /** Of a proved stamp, for the script that compares files with it. */
  readonly imprint: Imprint | null;
  /** Whether the given hash is another than the stamped one. This is then said first. */
  readonly isOfAnother: boolean;
  /** Whether the token may be for the root of a batch, and so for any file (S14). */
  readonly mayBeOfBatch: boolean;
  /** The time, if there is one, stands after `before`, which may contain CommonMark `code`. */
  readonly sentence: { readonly before: string; readonly stampedAt: string | null; readonly after: string };
  readonly reason: string | null;
  readonly advice: string | null;
  readonly qualification: QualificationView | null;
}

interface QualificationView {
  readonly qualification: Qualification;
  /** Further sentences. */
  readonly more: readonly string[];
}

/** The facts of a proved stamp. */
interface StampView {
  readonly imprint: Imprint;
  readonly hashName: string;
  readonly stampedAt: string;
  /** The end of the sentence that begins with the time. */
  readonly accuracy: string;
  readonly provider: string | null;
  readonly mark: MarkShown | null;
  readonly isClaimedByToken: boolean;
  readonly details: TokenView | null;
  /** One sentence each. */
  readonly notChecked: readonly string[];
}

interface TokenView extends Omit<TokenDetails, 'chain' | 'record'> {
  readonly chain: readonly (TokenDetails['chain'][number] & { readonly isTrustAnchor: boolean })[];
  readonly signedBy: string | undefined;
  readonly record: { readonly renewed: string; readonly holdsUntil: string } | null;
}

/** Makes the model of the page of one stamp. */
export function verifyViewOf({ verdict, downloads, ...page }: VerifyPage): VerifyView {
  const [ofRoot, file] = page.isBatched ? [' for the root of the batch', 'batch-root'] : ['', ''];
  const names = {
    tsr: `response${ofRoot} (${file}.tsr)`,
    tsq: `request${ofRoot} (${file}.tsq)`,
    token: `token${ofRoot} (${file}.tst)`,
    evidence: 'evidence record (.ers)',
  };
  return {
    ...page,
    verdict: verdictViewOf(verdict, { heading: 'h1' }),
    stamp: stampViewOf(verdict),
    downloads: downloads.map(({ name, url }) => ({ name: names[name], url })),
  };
}

/** Makes the model of the answer to a pasted token. `hash`: empty if none was given. */
export function verifyFormViewOf(asked: { token: string; hash: string; verdict: VerdictShown }): VerifyFormView {
  const { hash, verdict } = asked;
  const stamp = verdict.kind === 'proved' ? verdict.stamp : null;
  const isGiven = stamp !== null && hash !== '';
  const isSame = isGiven && hash === stamp.imprint.digest;
  return {
    asked: {
      ...{ ...asked, isSame, stamp: stampViewOf(verdict) },
      verdict: verdictViewOf(verdict, { heading: 'h2', isOfAnother: isGiven && !isSame, mayBeOfBatch: stamp?.details?.record === null }),
    },
  };
}

function verdictViewOf(
  verdict: VerdictShown,
  asked: { heading: VerdictView['heading']; isOfAnother?: boolean; mayBeOfBatch?: boolean },
): VerdictView {
  const { isOfAnother = false, mayBeOfBatch = false, heading } = asked;
  const shown = { heading, isOfAnother, mayBeOfBatch };
  if (verdict.kind === 'proved')
    return { ...shown, ...provedView(verdict.stamp, isOfAnother), imprint: verdict.stamp.imprint, reason: null, advice: null };
  const { kind } = verdict;
  const { sentence, ...words } = unprovedWords[kind];
  const ofNotProved = verdict.kind === 'not_proved' ? verdict : null;
  return {
    ...{ ...shown, ...words, kind, imprint: null, sentence: { before: sentence, stampedAt: null, after: '' } },
    reason: 'reason' in verdict ? verdict.reason : null,
    advice: ('advice' in verdict ? verdict.advice : null) ?? (ofNotProved && 'It may be valid: verify it with your own trust anchors.'),
    qualification: ofNotProved?.qualification ? qualificationViewOf(ofNotProved.qualification, false) : null,
  };
}

const unprovedWords = {
  refused: { icon: 'cross', title: 'This stamp is not valid', sentence: 'It was checked just now and refused. It proves nothing.' },
  not_made: { icon: 'cross', title: 'There is no stamp', sentence: 'It was requested but never made. This address proves nothing.' },
  unknown: {
    icon: 'cross',
    title: 'No such stamp',
    sentence:
      'We have no stamp with this id. If somebody gave you this address as evidence, it proves nothing. Ask for the file and its token.',
  },
  not_proved: { icon: 'warning', title: 'This stamp is not proved', sentence: 'It is not proved here, for this reason:' },
};

function provedView(
  { stampedAt, provider, qualification, details }: ProvedStamp,
  isOfAnother: boolean,
): Pick<VerdictView, 'kind' | 'icon' | 'title' | 'sentence' | 'qualification'> {
  const existed = 'ata with the fingerprint below existed no later than ';
  const trial = trialOf(qualification);
  if (trial === 'development') {
    const before = `${developmentSentence} It proves nothing to a third party. It says that d${existed}`;
    const title = 'This is a development time-stamp';
    return { kind: 'test', icon: 'warning', title, sentence: { before, stampedAt, after: '.' }, qualification: null };
  }
  if (trial === 'mock') {
    const before = 'It proves nothing to a third party: it comes from the provider `mock`, which is for testing.';
    return {
      kind: 'test',
      icon: 'warning',
      title: 'This is a test stamp',
      sentence: { before, stampedAt: null, after: '' },
      qualification: null,
    };
  }
  const accuracy = details?.accuracySeconds ? `, give or take ${details.accuracySeconds} s` : '';
  const whom = provider === null ? 'the time-stamping authority named below' : `the provider ${provider}`;
  return {
    ...{ kind: 'proved', icon: 'check', title: 'This stamp is valid' },
    sentence: {
      before: `${isOfAnother ? 'The stamp itself is valid, but for another fingerprint. ' : ''}D${existed}`,
      ...{ stampedAt, after: `${accuracy}, if you trust ${whom}.` },
    },
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

function stampViewOf(verdict: VerdictShown): StampView | null {
  if (verdict.kind !== 'proved') return null;
  const { imprint, stampedAt, provider, qualification, details } = verdict.stamp;
  return {
    ...{ imprint, hashName: hashNameOf(imprint.algorithm), stampedAt, provider },
    accuracy: accuracyOf(details),
    mark: trialOf(qualification)
      ? markOf('test', null)
      : qualification.status === 'qualified'
        ? markOf('qualified', qualification.basis)
        : null,
    isClaimedByToken: qualification.isClaimedByToken,
    details: details && tokenViewOf(details),
    notChecked: (details?.notChecked ?? []).map((phrase) => phrase.charAt(0).toUpperCase() + phrase.slice(1).replace(/\.?$/, '.')),
  };
}

function accuracyOf(details: TokenDetails | null): string {
  if (!details) return '';
  return details.accuracySeconds === null ? '; no accuracy is stated' : `, to within ${details.accuracySeconds} s`;
}

const tokenViewOf = ({ chain, record, ...details }: TokenDetails): TokenView => ({
  ...details,
  signedBy: chain[0]?.subject,
  chain: chain.map((certificate, i) => ({ ...certificate, isTrustAnchor: i === chain.length - 1 })),
  record: record && { renewed: renewedText(record.tokens - 1), holdsUntil: record.holdsUntil },
});

function renewedText(renewals: number): string {
  if (renewals === 0) return 'Not renewed yet.';
  return renewals === 1 ? 'Renewed once.' : `Renewed ${count(renewals)} times.`;
}
