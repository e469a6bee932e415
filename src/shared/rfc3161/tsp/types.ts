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

/** Who signed. */
export interface SignerIdentity {
  /** RFC 4514 text, for people; compare the fingerprint, never this. */
  readonly subject: string;
  readonly issuer: string;
  /** Hexadecimal, without leading zeros. */
  readonly serialHex: string;
  /** SHA-256 of the DER certificate, hex. */
  readonly fingerprint: string;
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
  readonly signer: SignerIdentity;
  /** DER certificates from the signer to the trust anchor, the anchor last. */
  readonly chain: readonly Buffer[];
  /** SHA-256 of the DER trust anchor, hex. */
  readonly anchorFingerprint: string;
  /** DER TimeStampToken, a view of the bytes that were given. */
  readonly token: Buffer;
  readonly grantedWithMods: boolean;
}

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
