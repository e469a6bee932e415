import type { Refused } from '../refusal/refusal.ts';
import type { RevocationUnknown } from '../x509/revocation.ts';
import type { TrustStore } from '../x509/trust-store.ts';
import type { Imprint } from './imprint.ts';

export type Microseconds = bigint;

/** An extension of TSTInfo; accepted ones are not critical. */
export interface TstExtension {
  /** Dotted OID. */
  readonly type: string;
  readonly value: Buffer;
}

/** A GeneralizedTime may be finer than a Date, so the text is kept. */
export interface GenTime {
  /** As in the token, e.g. `20261121120000.123456Z`. */
  readonly text: string;
  /** Since the epoch, further digits cut off. */
  readonly microseconds: Microseconds;
  /** Since the epoch, further digits cut off. */
  readonly milliseconds: number;
}

/** A certificate of the chain, for people. */
export interface CertificateIdentity {
  /** RFC 4514 text; compare the fingerprint, not this. */
  readonly subject: string;
  readonly issuer: string;
  /** Hexadecimal, without leading zeros. */
  readonly serialHex: string;
  /** SHA-256 of the DER certificate, hex. */
  readonly fingerprint: string;
  /** Both are inclusive. */
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly der: Buffer;
}

/** Whether a certificate was revoked, according to the available revocation lists (V10). */
export type RevocationAnswer = { readonly certificate: CertificateIdentity } & (
  | { readonly status: 'good'; readonly list: ListIdentity }
  | {
      /** The token stays valid: the key was not lost, or a renewal proves that the token is older. */
      readonly status: 'revoked';
      readonly list: ListIdentity;
      readonly revokedAt: Date;
      /** If the list says so: the earlier time when the certificate is believed to have become invalid. */
      readonly invalidSince: Date | undefined;
      /** The name in RFC 5280 §5.3.1; undefined: the list gives no reason. */
      readonly reason: string | undefined;
    }
  | { readonly status: 'unknown'; readonly why: RevocationUnknown }
);

/** The list behind an answer. */
export interface ListIdentity {
  /** RFC 4514 text. */
  readonly issuer: string;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date | undefined;
}

/** A token that passed all checks. */
export interface Verified {
  readonly ok: true;
  /** The time of the token, to the millisecond. */
  readonly genTime: Date;
  /** As in the token. */
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
  /** The signer: the first of the chain. */
  readonly signer: CertificateIdentity;
  /** From the signer to the trust anchor, inclusive; only one if the anchor itself signed. */
  readonly chain: readonly CertificateIdentity[];
  /** SHA-256 of the DER trust anchor, hex. */
  readonly anchorFingerprint: string;
  /** One answer for each certificate below the anchor, and for an anchor that signed; for a record, of all its tokens. */
  readonly revocation: readonly RevocationAnswer[];
  /**
   * When the first certificate of the chain expired, if in the past: a stolen key is not reported after that. For a record, of its last token.
   */
  readonly certificatesEndedAt: Date | undefined;
  /** The TimeStampToken or the EvidenceRecord, a view of the given bytes: DER, or BER if the token was BER. */
  readonly token: Buffer;
  /** The parts of an EvidenceRecord beyond its first token, which all other members describe; undefined for a single token. */
  readonly record?: VerifiedEvidenceRecord;
  readonly grantedWithMods: boolean;
  /** Everything that was not checked. */
  readonly unchecked: readonly Unchecked[];
}

/** An EvidenceRecord that passed all checks (RFC 4998 §5.3). */
export interface VerifiedEvidenceRecord {
  /** Each ArchiveTimeStamp’s token, in order of time. */
  readonly tokens: readonly [RecordToken, ...RecordToken[]];
  /** The end of the last token’s certificates: it must be renewed before. */
  readonly holdsUntil: Date;
}

/** A token in a record. */
export interface RecordToken extends Verified {
  /** The stores that trust it: one for the first token, all that do for a renewal. */
  readonly trustedBy: readonly TrustStore[];
  /** Those stores for which the record would be valid now if it ended with this token. */
  readonly holdsAloneBy: readonly TrustStore[];
}

/** Reasons for further checks of a valid token or record: a closed set of codes with their sentences. */
export const UNCHECKED = {
  imprint: 'The token was not compared with a hash: none was given.',
  revocation: 'It is not known whether some certificate of the chain was revoked.',
  revocation_data: 'The revocation data inside the token was not used.',
  unsigned_attributes: 'The attributes outside the signature were not used.',
  other_certificates: 'Attribute certificates and other forms than X.509 were not used.',
  record_information: 'Attributes, verification data and encryption information of the evidence record were not used.',
  later_chains: 'Later chains of the evidence record were not used: the hash of their algorithm was not given.',
  ca_purposes: 'Extended key usages of certification authorities were not checked.',
} as const;

export type Unchecked = keyof typeof UNCHECKED;

export type VerifyResult = Verified | Refused;

/** The context for every verification. */
export interface VerifyContext {
  readonly trust: TrustStore;
  /** Milliseconds since the epoch: a later genTime is refused. */
  readonly nowMs: number;
  /** How far clocks may differ, milliseconds; default `DEFAULT_CLOCK_TOLERANCE_MS`. */
  readonly clockToleranceMs?: number;
  /** Accept PKIStatus grantedWithMods; default false. */
  readonly acceptGrantedWithMods?: boolean;
  /** Refuse a token with a coarser or unknown accuracy; default: accept any. */
  readonly maxAccuracySeconds?: number;
  /** The accuracy that the TSA's policy promises, for tokens that state none. */
  readonly policyAccuracySeconds?: number;
}

/** The context for a new answer to a request. */
export interface ResponseContext extends VerifyContext {
  /** DER of the TimeStampReq that was sent. */
  readonly request: Uint8Array;
  /** When the request was sent and the answer received, milliseconds since the epoch. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** The context for a stored or raw token. */
export interface TokenContext extends VerifyContext {
  /** The required imprint; undefined: any. */
  readonly expected?: Imprint;
}

export const DEFAULT_CLOCK_TOLERANCE_MS = 60_000;
