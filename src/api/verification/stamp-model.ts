import type { Imprint } from '../../shared/domain/stamp.ts';
import type { ToldRevocation } from '../../shared/domain/told-token.ts';

/** What pages are told of a stamp: what was verified for this very answer (V9), and what was only written down. */

/** What verifying the stored token for this very answer gave. */
export type StampVerdict =
  /** The token is good and says what the record says: provider, time and imprint come from the token. */
  | { readonly kind: 'proved' }
  /** `reason` as verification answers it: a code, a colon, one sentence (V3). */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nobody whom this installation trusts vouches for it, or something is missing to judge it by. */
  | { readonly kind: 'not_proved' };

/**
 * Who vouches for a time. Unless the verdict is `proved`, the other members are only what is recorded, and the page must not claim them.
 */
export interface StampMark {
  readonly tokenId: string;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly verifyUrl: string;
  readonly verdict: StampVerdict;
}

/** A certificate for people; what counts is the fingerprint. */
export interface CertificateShown {
  readonly subject: string;
  /** SHA-256 of the DER, lower-case hex. */
  readonly fingerprint: string;
  readonly validFrom: string;
  readonly validUntil: string;
  /** Null of a trust anchor, unless it signed: whoever trusts it watches it himself. */
  readonly revocation: ToldRevocation | null;
}

/** What an RFC 3161 token says beside time and imprint, and who signed it. */
export interface TokenDetails {
  /** Dotted OID. */
  readonly policy: string;
  /** Null where the token names none. */
  readonly accuracySeconds: number | null;
  /** Decimal. */
  readonly serial: string;
  /** From the signer to the trust anchor, the anchor last. */
  readonly chain: readonly CertificateShown[];
  /** What the verdict does not rest on, beside the file: as API and command say it. */
  readonly notChecked: readonly string[];
  /** When the first certificate of the chain ended, if that is past (V5). */
  readonly certificatesEndedAt: string | null;
  /** Null of a token that is no evidence record (RFC 4998). */
  readonly record: EvidenceRecordDetails | null;
}

export interface EvidenceRecordDetails {
  /** The first token and its renewals. */
  readonly tokens: number;
  /** It must be renewed before. */
  readonly holdsUntil: string;
}

/** What a token that passed every check proves. */
export interface ProvedStamp {
  readonly stampedAt: string;
  /** Null for a token that leads to an anchor of no configured provider. */
  readonly provider: string | null;
  readonly isQualified: boolean;
  readonly imprint: Imprint;
  /** Null for a token of the mock provider: it has no certificates. */
  readonly details: TokenDetails | null;
}
