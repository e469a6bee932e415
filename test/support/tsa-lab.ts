import { createHash } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { boolean, integer, nullValue, objectIdentifier, octetString, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import type { SigningIdentity, TsaProfile } from '../../src/shared/rfc3161/issue/issue.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createPki, issueSigner, type KeyAlgorithm, type Pki, type SignerOptions } from './certificates.ts';
import { issueResponseWith, type LabProfile, type Seams } from './tsa-seams.ts';

/** A bench for tokens: one PKI, one fixed time, and each token with everything needed to verify it. */

export const LAB_POLICY = '2.999.7.1';
/** The time at which lab tokens are made, milliseconds since the epoch. */
export const LAB_NOW_MS = Date.UTC(2026, 10, 21, 12, 0, 0, 250);
export const DAY_MS = 24 * 3600 * 1000;

/** The request: the members that a verifier compares, and the DER sent. */
export interface Asked {
  hash: 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';
  digest: Buffer;
  nonce: bigint | undefined;
  policy: string | undefined;
  certReq: boolean;
  /** DER of the TimeStampReq. */
  der: Buffer;
}

export interface AskOptions {
  hash?: Asked['hash'];
  /** Default: the digest of a fixed document. */
  digest?: Buffer;
  nonce?: bigint | undefined;
  policy?: string | undefined;
  certReq?: boolean;
  /** Write NULL parameters after the digest's OID. */
  nullParameters?: boolean;
}

/** A TimeStampReq (RFC 3161 §2.4.1). */
export function ask(options: AskOptions = {}): Asked {
  const hash = options.hash ?? 'sha256';
  const digest = options.digest ?? createHash(hash).update('the document').digest();
  const nonce = 'nonce' in options ? options.nonce : 0x1122334455667788n;
  const { policy, certReq = true } = options;
  const der = sequence(
    integer(1),
    sequence(sequence(objectIdentifier(OID[hash]), ...(options.nullParameters ? [nullValue()] : [])), octetString(digest)),
    ...(policy === undefined ? [] : [objectIdentifier(policy)]),
    ...(nonce === undefined ? [] : [integer(nonce)]),
    ...(certReq ? [boolean(true)] : []),
  );
  return { hash, digest, nonce, policy, certReq, der };
}

/** An answer and the settings to verify it. */
export interface Specimen {
  asked: Asked;
  /** DER of the TimeStampResp. */
  answer: Buffer;
  /** DER of the trust anchors. */
  anchors: readonly Buffer[];
  /** DER of revocation lists that the verifier is given. */
  crls: readonly Buffer[];
  /** The verifier's clock; the request was sent at `LAB_NOW_MS`. */
  nowMs: number;
  /** Verify without the request, like a raw token, because the request would hide the fault behind another one. */
  withoutRequest: boolean;
}

export interface SpecimenOptions {
  ask?: AskOptions;
  seams?: Seams;
  profile?: Partial<LabProfile>;
  /** genTime; default `LAB_NOW_MS`. */
  timeMs?: number;
  bend?: (answer: Buffer) => Buffer;
  anchors?: readonly Buffer[];
  crls?: readonly Buffer[];
  nowMs?: number;
  withoutRequest?: boolean;
}

export interface TsaLab {
  pki: Pki;
  profile: TsaProfile;
  /** A TSA certificate of the lab's intermediate CA. */
  signer(options?: SignerOptions): SigningIdentity;
  /** Without options: a valid token. */
  specimen(options?: SpecimenOptions): Specimen;
}

const rsaPkis = new Map<KeyAlgorithm, Pki>();

/** RSA keys are slow to make, so a process makes them once. */
function labPki(algorithm: KeyAlgorithm): Pki {
  const pki = rsaPkis.get(algorithm) ?? createPki({ algorithm, nowMs: LAB_NOW_MS - 365 * DAY_MS });
  if (algorithm.startsWith('rsa')) rsaPkis.set(algorithm, pki);
  return pki;
}

export function createTsaLab(algorithm: KeyAlgorithm = 'p-256'): TsaLab {
  const pki = labPki(algorithm);
  const profile: TsaProfile = { identity: pki.signer, policies: [LAB_POLICY], accuracy: { seconds: 1 } };
  return {
    pki,
    profile,
    signer: (options = {}) => issueSigner(pki.intermediate, { algorithm, nowMs: LAB_NOW_MS - DAY_MS, ...options }),
    specimen: (options = {}) => {
      const asked = ask(options.ask);
      const moment = { timeMs: options.timeMs ?? LAB_NOW_MS, serial: randomSerial() };
      const answer = issueResponseWith(options.seams ?? {}, { ...profile, ...options.profile }, asked.der, moment);
      return {
        asked,
        answer: options.bend?.(answer) ?? answer,
        anchors: options.anchors ?? [pki.root.certificate],
        crls: options.crls ?? [],
        nowMs: options.nowMs ?? LAB_NOW_MS,
        withoutRequest: options.withoutRequest ?? false,
      };
    },
  };
}

/** One way to be refused, or to be accepted anyway. */
export interface Case {
  name: string;
  make(lab: TsaLab): Specimen;
}

export interface FaultyCase extends Case {
  /** The only allowed reason for the refusal. */
  code: ReasonCode;
}
