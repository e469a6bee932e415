import type { Refused } from '../refusal/refusal.ts';
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
  /** The TimeStampToken or the EvidenceRecord, a view of the bytes that were given: DER, or BER if a token came so. */
  readonly token: Buffer;
  /** What an EvidenceRecord says beyond its first token, of which everything else is told; undefined: a token by itself. */
  readonly record?: VerifiedRecord;
  readonly grantedWithMods: boolean;
  /** What the verdict does not rest on. */
  readonly unchecked: readonly Unchecked[];
}

/** An EvidenceRecord that passed every check (RFC 4998 §5.3). */
export interface VerifiedRecord {
  /** Each ArchiveTimeStamp’s token, in the order of time. */
  readonly tokens: readonly [Verified, ...Verified[]];
  /** Until when the last token’s certificates are valid: it must be renewed before. */
  readonly holdsUntil: Date;
}

/** Why somebody may want to look further, although the token or record is good; a closed set of codes with what people read. */
export const UNCHECKED = {
  imprint: 'The token was not compared with a hash: none was given.',
  revocation: 'Not every certificate of the chain was looked up in a revocation list of its issuer.',
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
  /** Refuse a token whose accuracy is coarser; default: any. */
  readonly maxAccuracySeconds?: number;
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
