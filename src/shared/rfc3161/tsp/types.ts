import type { Refused } from '../refusal/refusal.ts';
import type { RevocationUnknown } from '../x509/revocation.ts';
import type { TrustStore } from '../x509/trust-store.ts';
import type { Imprint } from './imprint.ts';

export type Microseconds = bigint;

/** An extension of TSTInfo; those that are accepted are not critical. */
export interface TstExtension {
  /** Dotted OID. */
  readonly type: string;
  readonly value: Buffer;
}

/** A GeneralizedTime may be finer than a Date: the text is kept. */
export interface GenTime {
  /** As it stands in the token, e.g. `20261121120000.123456Z`. */
  readonly text: string;
  /** Since the epoch, further digits cut off. */
  readonly microseconds: Microseconds;
  /** Since the epoch, further digits cut off. */
  readonly milliseconds: number;
}

/** A certificate of the chain, for people to read. */
export interface CertificateIdentity {
  /** RFC 4514 text; compare the fingerprint, never this. */
  readonly subject: string;
  readonly issuer: string;
  /** Hexadecimal, without leading zeros. */
  readonly serialHex: string;
  /** SHA-256 of the DER certificate, hex. */
  readonly fingerprint: string;
  /** Both ends are within the validity. */
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly der: Buffer;
}

/** Whether a certificate was revoked, as far as the revocation lists at hand tell (V10). */
export type RevocationAnswer = { readonly certificate: CertificateIdentity } & (
  | { readonly status: 'good'; readonly list: ListIdentity }
  | {
      /** Without harm to the token: the key was kept, or a renewal proves that the token is older. */
      readonly status: 'revoked';
      readonly list: ListIdentity;
      readonly revokedAt: Date;
      /** Before that, where the list says so: since when the certificate is believed not to have been good. */
      readonly invalidSince: Date | undefined;
      /** As RFC 5280 §5.3.1 names it; undefined: the list does not say. */
      readonly reason: string | undefined;
    }
  | { readonly status: 'unknown'; readonly why: RevocationUnknown }
);

/** The list that an answer rests on. */
export interface ListIdentity {
  /** RFC 4514 text. */
  readonly issuer: string;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date | undefined;
}

/** A token that passed every check. */
export interface Verified {
  readonly ok: true;
  /** The time that the TSA vouches for, to the millisecond. */
  readonly genTime: Date;
  /** As it stands in the token. */
  readonly genTimeText: string;
  /** Microseconds since the epoch. */
  readonly genTimeMicroseconds: Microseconds;
  readonly accuracyMicroseconds: Microseconds | undefined;
  /** Decimal. */
  readonly serial: string;
  /** Dotted OID. */
  readonly policy: string;
  readonly imprint: Imprint;
  readonly nonce: bigint | undefined;
  readonly ordering: boolean;
  readonly extensions: readonly TstExtension[];
  /** Who signed: the first of the chain. */
  readonly signer: CertificateIdentity;
  /** From the signer to the trust anchor, the anchor last; an anchor that signed stands alone. */
  readonly chain: readonly CertificateIdentity[];
  /** SHA-256 of the DER trust anchor, hex. */
  readonly anchorFingerprint: string;
  /** One answer for each certificate below the anchor, and for an anchor that signed; of a record, of all its tokens. */
  readonly revocation: readonly RevocationAnswer[];
  /** When the first certificate of the chain ended, if that is past: a key is not watched after that (V5). Of a record, of its last token. */
  readonly certificatesEndedAt: Date | undefined;
  /** The TimeStampToken or the EvidenceRecord, a view of the bytes that were given: DER, or BER if a token came so. */
  readonly token: Buffer;
  /** What an EvidenceRecord says beyond its first token, of which everything else is told; undefined: a token by itself. */
  readonly record?: VerifiedEvidenceRecord;
  readonly grantedWithMods: boolean;
  /** What the verdict does not rest on. */
  readonly unchecked: readonly Unchecked[];
}

/** An EvidenceRecord that passed every check (RFC 4998 §5.3). */
export interface VerifiedEvidenceRecord {
  /** Each ArchiveTimeStamp’s token, in the order of time. */
  readonly tokens: readonly [RecordToken, ...RecordToken[]];
  /** Until when the last token’s certificates are valid: it must be renewed before. */
  readonly holdsUntil: Date;
}

/** A token at its place in a record. */
export interface RecordToken extends Verified {
  /** Each of the stores that it was judged by which leads it to an anchor: of the first token the one, of a renewal as many as do. */
  readonly trustedBy: readonly TrustStore[];
  /** Those of them by which the record would hold now if it ended with this token. */
  readonly holdsAloneBy: readonly TrustStore[];
}

/** Why somebody may want to look further, although the token or record is good; a closed set of codes with what people read. */
export const UNCHECKED = {
  imprint: 'The token was not compared with a hash: none was given.',
  revocation: 'Of some certificate of the chain it is not known whether it was revoked.',
  revocation_data: 'The revocation data inside the token was not used.',
  unsigned_attributes: 'The attributes outside the signature were not used.',
  other_certificates: 'Attribute certificates and other forms beside those of X.509 were not used.',
  record_information: 'Attributes, verification data and encryption information of the evidence record were not used.',
  later_chains: 'Later chains of the evidence record were not used: the hash of their algorithm was not given.',
  ca_purposes: 'Extended key usages of certification authorities were not asked for.',
} as const;

export type Unchecked = keyof typeof UNCHECKED;

export type VerifyResult = Verified | Refused;

/** What every judgement needs. */
export interface VerifyContext {
  readonly trust: TrustStore;
  /** Milliseconds since the epoch: no genTime may lie after it. */
  readonly nowMs: number;
  /** How far clocks may differ, milliseconds; default `DEFAULT_CLOCK_TOLERANCE_MS`. */
  readonly clockToleranceMs?: number;
  /** Accept PKIStatus grantedWithMods; default false. */
  readonly acceptGrantedWithMods?: boolean;
  /** Refuse a token whose accuracy is coarser, or not known; default: any. */
  readonly maxAccuracySeconds?: number;
  /** The accuracy that the TSA's policy promises: it counts where the token states none. */
  readonly policyAccuracySeconds?: number;
}

/** Judging a fresh answer to a request. */
export interface ResponseContext extends VerifyContext {
  /** DER of the TimeStampReq that was sent. */
  readonly request: Uint8Array;
  /** When the request was sent and the answer received, milliseconds since the epoch. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** Judging a stored or a raw token. */
export interface TokenContext extends VerifyContext {
  /** What the token must be for; undefined: anything. */
  readonly expected?: Imprint;
}

export const DEFAULT_CLOCK_TOLERANCE_MS = 60_000;
