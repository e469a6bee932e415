import type { Qualification } from '../../shared/domain/qualification.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import type { ToldRevocation } from '../../shared/domain/token.ts';

// The data of a stamp for pages: facts that were verified for this answer (V9), and facts that are only recorded.

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
