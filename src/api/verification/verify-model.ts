import type { ProvedStamp } from './stamp-model.ts';

declare module '../server/views.ts' {
  interface PageModels {
    readonly verify: VerifyPage;
    readonly 'verify-form': VerifyFormPage;
  }
}

/** The verdict on one stamp, as a person reads it. */
export type VerdictShown =
  | { readonly kind: 'proved'; readonly stamp: ProvedStamp }
  /** `reason` as verification answers it (V3); `not_proved`: nothing is wrong, but nobody whom this installation trusts vouches for it (V11). */
  | {
      readonly kind: 'refused' | 'not_proved';
      readonly reason: string;
      /** What one can do, in a sentence. */
      readonly advice: string | null;
    }
  /** No stamp has this id (E6). */
  | { readonly kind: 'unknown' }
  /** Accepted, and then refused by every TSA (E11). */
  | { readonly kind: 'not_made'; readonly reason: string };

/** `verify_url`, opened by a person (V8). */
export interface VerifyPage {
  readonly tokenId: string;
  /** Where this page is found, absolute. */
  readonly address: string;
  readonly verdict: VerdictShown;
  /** For verifiers other than this service; empty for the mock provider and for an unknown id. */
  readonly downloads: readonly { readonly name: 'tsr' | 'tsq' | 'token' | 'evidence'; readonly url: string }[];
  /** Whether they are for the root of a batch, to which the evidence record leads (S14). */
  readonly isBatched: boolean;
  readonly shownAt: string;
}

/** `/verify`: a file and its stamp, or a pasted token. */
export interface VerifyFormPage {
  /** What was pasted into the form and sent without JavaScript; null when the page is just opened. */
  readonly asked: { readonly token: string; readonly hash: string; readonly verdict: VerdictShown } | null;
}
