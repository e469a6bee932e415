import type { Qualification } from '../../shared/domain/qualification.ts';
import type { ProvedStamp } from './stamp-model.ts';

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
