import type { Refused } from '../refusal/refusal.ts';
import type { RevocationUnknown } from '../x509/revocation.ts';
import type { TrustStore } from '../x509/trust-store.ts';
import type { MessageImprint } from './imprint.ts';

export type Microseconds = bigint;

/** An extension of TSTInfo. A token with a critical extension is refused, so this one is not critical. */
export interface TstExtension {
  /** Dotted OID. */
  readonly type: string;
  readonly value: Buffer;
}

/** The genTime of a token. It may be finer than a Date, so its text is kept. */
export interface GenTime {
  /** The text in the token, for example `20261121120000.123456Z`. */
  readonly text: string;
  /** Whole microseconds since the epoch. Further digits are removed. */
  readonly microseconds: Microseconds;
  /** Whole milliseconds since the epoch. Further digits are removed. */
  readonly milliseconds: number;
}

/** The data about a certificate of the chain that is shown to people. */
export interface CertificateIdentity {
  /** The name as text (RFC 4514). To compare certificates, use the fingerprint instead. */
  readonly subject: string;
  readonly issuer: string;
  /** Hexadecimal, without leading zeros. Some old certificates have a negative number. */
  readonly serialHex: string;
  /** SHA-256 of the DER certificate, hex. */
  readonly fingerprint: string;
  /** The first moment of validity. */
  readonly notBefore: Date;
  /** The last moment of validity. */
  readonly notAfter: Date;
  readonly der: Buffer;
}

/** The revocation status of a certificate, according to the available revocation lists (V10). */
export type RevocationAnswer = { readonly certificate: CertificateIdentity } & (
  | { readonly status: 'good'; readonly list: ListIdentity }
  | {
      /** This revocation does not invalidate the token: the key was not lost, or a renewal proves that the token is older than the loss. */
      readonly status: 'revoked';
      readonly list: ListIdentity;
      readonly revokedAt: Date;
      /** When the certificate is believed to have become invalid, if the list says so. */
      readonly invalidSince: Date | undefined;
      /** The name of the reason in RFC 5280 §5.3.1. Undefined: the list gives no reason. */
      readonly reason: string | undefined;
    }
  | { readonly status: 'unknown'; readonly why: RevocationUnknown }
);

/** The revocation list that gave an answer. */
interface ListIdentity {
  /** The name of the issuer as text (RFC 4514). */
  readonly issuer: string;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date | undefined;
}

/** A token that passed all checks. */
export interface VerifiedToken {
  readonly ok: true;
  /** genTime, in whole milliseconds. */
  readonly genTime: Date;
  /** The text of genTime in the token. */
  readonly genTimeText: string;
  /** genTime, in microseconds since the epoch. */
  readonly genTimeMicroseconds: Microseconds;
  readonly accuracyMicroseconds: Microseconds | undefined;
  /** The serial number of the token, as decimal text. */
  readonly serial: string;
  /** Dotted OID. */
  readonly policy: string;
  readonly imprint: MessageImprint;
  readonly nonce: bigint | undefined;
  readonly ordering: boolean;
  readonly extensions: readonly TstExtension[];
  /** The signer's certificate: the first of the chain. */
  readonly signer: CertificateIdentity;
  /** The certificates from the signer to the trust anchor, inclusive. Only one if the anchor itself signed. */
  readonly chain: readonly CertificateIdentity[];
  /** SHA-256 of the trust anchor's DER, hex. */
  readonly anchorFingerprint: string;
  /** One answer for each certificate below the anchor, or for the anchor if it signed itself. */
  readonly revocation: readonly RevocationAnswer[];
  /** When the first certificate of the chain expired. Undefined if none has expired. After this time nobody reports a stolen key. */
  readonly certificatesEndedAt: Date | undefined;
  /** The TimeStampToken, as a view of the given bytes. It may be BER, if it was given in BER. */
  readonly token: Buffer;
  readonly grantedWithMods: boolean;
  /** The codes of everything that was not checked. */
  readonly unchecked: readonly Unchecked[];
}

/**
 * A token or an EvidenceRecord that passed all checks. For a record, `token` is the whole record, `imprint` is that of the document, `revocation` has
 * the answers for all its tokens, and `certificatesEndedAt` is about its last token. Most other members describe its first token.
 */
export type Verified = VerifiedToken & {
  /** Only for an EvidenceRecord: its tokens and its end. */
  readonly record?: VerifiedEvidenceRecord;
};

/** An EvidenceRecord that passed all checks (RFC 4998 §5.3). */
export interface VerifiedEvidenceRecord {
  /** The token of each ArchiveTimeStamp, in order of time. */
  readonly tokens: readonly [RecordToken, ...RecordToken[]];
  /** When the first certificate in the chain of the last token expires. The record must be renewed before this time. */
  readonly holdsUntil: Date;
}

/** A token in a record. */
export interface RecordToken extends VerifiedToken {
  /** The trust stores that trust the token. For the first token, only `trust` is tried. */
  readonly trustedBy: readonly TrustStore[];
  /** The trust stores of `trustedBy` for which the record would be valid now if it ended with this token. */
  readonly holdsAloneBy: readonly TrustStore[];
}

/** Everything that may be unchecked although a token or record is valid: codes with their sentences. */
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

/** The statement of a token that was refused. Nobody verified it: it can only show that a token is for another document. */
export interface TokenClaims {
  readonly imprint: MessageImprint;
  readonly genTime: Date;
}

/** A token or evidence record that was refused. `claims`: undefined if its statement cannot be read. For a record, it is that of its first token. */
export type RefusedToken = Refused & { readonly claims?: TokenClaims };

export type VerifyResult = Verified | RefusedToken;

/** The context for every verification. */
export interface VerifyContext {
  readonly trust: TrustStore;
  /** The current time in milliseconds since the epoch. A later genTime is refused. */
  readonly nowMs: number;
  /** By how much clocks may differ, in milliseconds. The default is `DEFAULT_CLOCK_TOLERANCE_MS`. */
  readonly clockToleranceMs?: number;
  /** Accepts the PKIStatus grantedWithMods. The default is false. */
  readonly acceptGrantedWithMods?: boolean;
  /** Refuses a token with a coarser or unknown accuracy. By default, any accuracy is accepted. */
  readonly maxAccuracySeconds?: number;
  /** The accuracy that the TSA's policy promises. It counts for tokens that do not state an accuracy. */
  readonly policyAccuracySeconds?: number;
}

/** The context for a new answer to a request. */
export interface ResponseContext extends VerifyContext {
  /** DER of the TimeStampReq that was sent. */
  readonly request: Uint8Array;
  /** When the request was sent, in milliseconds since the epoch. */
  readonly sentAtMs: number;
  /** When the answer was received, in milliseconds since the epoch. */
  readonly receivedAtMs: number;
}

/** The context for a token that is not a new answer: it was stored, or a client sent it. */
export interface TokenContext extends VerifyContext {
  /** The required imprint. Undefined: any imprint is accepted. */
  readonly expected?: MessageImprint;
}

export const DEFAULT_CLOCK_TOLERANCE_MS = 60_000;
