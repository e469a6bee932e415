import type { Imprint } from '../../shared/domain/stamp.ts';
import type { ToldRevocation } from '../../shared/domain/told-token.ts';

/** The data of a stamp for pages: facts verified for this answer (V9), and facts that are only recorded. */

/** The result of verifying the stored token for this answer. */
export type StampVerdict =
  /** The token is valid and agrees with the record: provider, time and imprint come from the token. */
  | { readonly kind: 'proved' }
  /** `reason` is a code, a colon and one sentence. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No trust anchor of this installation leads to it, or data for verification is missing. */
  | { readonly kind: 'not_proved' };

/**
 * A stamp and its verdict. Unless the verdict is `proved`, the other members are only recorded, and the page must not claim them.
 */
export interface StampMark {
  readonly tokenId: string;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly verifyUrl: string;
  readonly verdict: StampVerdict;
}

/** A certificate for people. Only the fingerprint is reliable. */
export interface CertificateShown {
  readonly subject: string;
  /** SHA-256 of the DER, lower-case hex. */
  readonly fingerprint: string;
  readonly validFrom: string;
  readonly validUntil: string;
  /** Null for a trust anchor that did not sign the token: its revocation is not checked. */
  readonly revocation: ToldRevocation | null;
}

/** The contents of an RFC 3161 token beside time and imprint, and its signer. */
export interface TokenDetails {
  /** Dotted OID. */
  readonly policy: string;
  /** Null if the token has no accuracy. */
  readonly accuracySeconds: number | null;
  /** Decimal. */
  readonly serial: string;
  /** From the signer to the trust anchor, the anchor last. */
  readonly chain: readonly CertificateShown[];
  /** Facts that were not checked, beside the file, in the words of API and command. */
  readonly notChecked: readonly string[];
  /** When the first certificate of the chain ended, if that is past. */
  readonly certificatesEndedAt: string | null;
  /** Null if it is not an evidence record (RFC 4998). */
  readonly record: EvidenceRecordDetails | null;
}

export interface EvidenceRecordDetails {
  /** The number of tokens: the first one and its renewals. */
  readonly tokens: number;
  /** It must be renewed before this time. */
  readonly holdsUntil: string;
}

/** The facts that a valid token proves. */
export interface ProvedStamp {
  readonly stampedAt: string;
  /** Null if the token leads to an anchor that does not belong to a configured provider. */
  readonly provider: string | null;
  readonly isQualified: boolean;
  readonly imprint: Imprint;
  /** Null for a token of the mock provider: it has no certificates. */
  readonly details: TokenDetails | null;
}
