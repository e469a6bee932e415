import type { ProvedStamp } from './stamp-model.ts';

declare module '../server/views.ts' {
  interface PageModels {
    readonly verify: VerifyPage;
    readonly 'verify-form': VerifyFormPage;
  }
}

/** The verdict on one stamp, for people. */
export type VerdictShown =
  | { readonly kind: 'proved'; readonly stamp: ProvedStamp }
  /** `reason` as in the JSON answer. `not_proved`: nothing is wrong, but no trust anchor of this installation leads to it (V11). */
  | {
      readonly kind: 'refused' | 'not_proved';
      readonly reason: string;
      /** A sentence that says what to do. */
      readonly advice: string | null;
    }
  /** No stamp has this id. */
  | { readonly kind: 'unknown' }
  /** Accepted, but then every TSA refused it. */
  | { readonly kind: 'not_made'; readonly reason: string };

/** The page at `verify_url`. */
export interface VerifyPage {
  readonly tokenId: string;
  /** The absolute address of this page. */
  readonly address: string;
  readonly verdict: VerdictShown;
  /** Files for other verifiers; empty for the mock provider and for an unknown id. */
  readonly downloads: readonly { readonly name: 'tsr' | 'tsq' | 'token' | 'evidence'; readonly url: string }[];
  /** Whether the files are for the root of a batch. The evidence record leads to that root. */
  readonly isBatched: boolean;
  readonly shownAt: string;
}

/** `/verify`: a file and its stamp, or a pasted token. */
export interface VerifyFormPage {
  /** The fields of a form sent without JavaScript; null if the page was only opened. */
  readonly asked: { readonly token: string; readonly hash: string; readonly verdict: VerdictShown } | null;
}
