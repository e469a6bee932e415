import { createPublicKey } from 'node:crypto';
import { OID, type SigningIdentity } from '../shared/rfc3161/index.ts';
import { randomSerial } from '../shared/runtime/random-octets.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  extendedKeyUsage,
  generateSigningKey,
  issueCertificate,
  issueCrl,
  KEY_USAGE,
  type KeyAlgorithm,
  keyUsage,
  pem,
  type SigningKey,
  subjectKeyIdentifier,
} from './certificate.ts';

const YEAR_MS = 365.25 * 24 * 3600 * 1000;
/** Certificates are valid from a little in the past, so that a verifier with a slightly slow clock also accepts them. */
const BACKDATE_MS = 3600 * 1000;

export interface Pki {
  root: SigningIdentity;
  intermediate: SigningIdentity;
  /** The key and certificate of the TSA itself. */
  signer: SigningIdentity;
  rootPem: string;
}

export interface SignerOptions {
  algorithm?: KeyAlgorithm;
  /** Used instead of a new key of `algorithm`. */
  key?: SigningKey;
  commonName?: string;
  serial?: bigint;
  notBeforeMs?: number;
  notAfterMs?: number;
  /** Used instead of the usual extensions of a TSA certificate. */
  extensions?: (publicKey: SigningKey['publicKey']) => readonly Buffer[];
}

export function issueRoot(options: { algorithm: KeyAlgorithm; nowMs: number; commonName?: string }): SigningIdentity {
  const key = generateSigningKey(options.algorithm);
  return issueCertificate(
    {
      commonName: options.commonName ?? 'Root CA',
      serial: randomSerial(),
      notBeforeMs: options.nowMs - BACKDATE_MS,
      notAfterMs: options.nowMs + 30 * YEAR_MS,
      extensions: [basicConstraints(true), keyUsage(KEY_USAGE.keyCertSign, KEY_USAGE.cRLSign), subjectKeyIdentifier(key.publicKey)],
    },
    key,
  );
}

export interface IntermediateOptions {
  algorithm: KeyAlgorithm;
  nowMs: number;
  commonName?: string;
  notBeforeMs?: number;
  notAfterMs?: number;
  /** Extensions in addition to those of every CA, for example an extended key usage. */
  extensions?: readonly Buffer[];
}

export function issueIntermediate(root: SigningIdentity, options: IntermediateOptions): SigningIdentity {
  const key = generateSigningKey(options.algorithm);
  return issueCertificate(
    {
      commonName: options.commonName ?? 'Time-Stamping CA',
      serial: randomSerial(),
      notBeforeMs: options.notBeforeMs ?? options.nowMs - BACKDATE_MS,
      notAfterMs: options.notAfterMs ?? options.nowMs + 20 * YEAR_MS,
      extensions: [
        basicConstraints(true),
        keyUsage(KEY_USAGE.keyCertSign, KEY_USAGE.cRLSign),
        subjectKeyIdentifier(key.publicKey),
        authorityKeyIdentifier(createPublicKey(root.privateKey)),
        ...(options.extensions ?? []),
      ],
    },
    key,
    root,
  );
}

/** Issues a TSA certificate that follows RFC 3161 §2.3 and RFC 5280, if the options do not change that. */
export function issueSigner(issuer: SigningIdentity, options: SignerOptions & { nowMs: number }): SigningIdentity {
  const key = options.key ?? generateSigningKey(options.algorithm ?? 'p-256');
  const extensions = options.extensions?.(key.publicKey) ?? [
    basicConstraints(false),
    keyUsage(KEY_USAGE.digitalSignature),
    extendedKeyUsage([OID.timeStamping]),
    subjectKeyIdentifier(key.publicKey),
    authorityKeyIdentifier(createPublicKey(issuer.privateKey)),
  ];
  return issueCertificate(
    {
      commonName: options.commonName ?? 'Development TSA',
      serial: options.serial ?? randomSerial(),
      notBeforeMs: options.notBeforeMs ?? options.nowMs - BACKDATE_MS,
      notAfterMs: options.notAfterMs ?? options.nowMs + 10 * YEAR_MS,
      extensions,
    },
    key,
    issuer,
  );
}

/** An empty revocation list of a CA, valid from `nowMs` for a year. Some verifiers require a revocation list of each CA. */
export const emptyCrl = (issuer: SigningIdentity, nowMs: number): Buffer =>
  issueCrl({ number: BigInt(Math.floor(nowMs / 1000)), thisUpdateMs: nowMs, nextUpdateMs: nowMs + YEAR_MS, revoked: [] }, issuer);

interface PkiOptions {
  /** The algorithm of the TSA's key; default `p-256`. */
  algorithm?: KeyAlgorithm;
  /** The algorithm of both CA keys; default: the algorithm of the TSA's key. */
  caAlgorithm?: KeyAlgorithm;
  /** Milliseconds since the epoch. The validity periods are relative to this time. */
  nowMs: number;
}

/** Creates root, intermediate and TSA with new keys. */
export function createPki(options: PkiOptions): Pki {
  const algorithm = options.algorithm ?? 'p-256';
  const caAlgorithm = options.caAlgorithm ?? algorithm;
  const root = issueRoot({ algorithm: caAlgorithm, nowMs: options.nowMs });
  const intermediate = issueIntermediate(root, { algorithm: caAlgorithm, nowMs: options.nowMs });
  const signer = issueSigner(intermediate, { algorithm, nowMs: options.nowMs });
  return { root, intermediate, signer, rootPem: pem('CERTIFICATE', root.certificate) };
}
