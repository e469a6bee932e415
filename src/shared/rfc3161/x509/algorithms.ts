import { hash } from 'node:crypto';
import { type Der, derOf, inside, membersOf, TAG } from '../asn1/der.ts';
import { integerOf, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { objectIdentifier, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { refuse } from '../refusal/refusal.ts';

/** This module has the accepted algorithms and their identifiers (RFC 5754, RFC 5758, RFC 4055, RFC 8410, RFC 8419). */

/** The digests that are accepted for imprints and signatures. SHA-1 and MD5 are not accepted, because collisions would make a stamp worthless. */
export type DigestAlgorithm = 'sha256' | 'sha384' | 'sha512';

export const DIGEST_OCTETS: Readonly<Record<DigestAlgorithm, number>> = { sha256: 32, sha384: 48, sha512: 64 };

const DIGESTS: ReadonlyMap<string, DigestAlgorithm> = new Map([
  [OID.sha256, 'sha256'],
  [OID.sha384, 'sha384'],
  [OID.sha512, 'sha512'],
]);

const BROKEN_DIGESTS: ReadonlyMap<string, string> = new Map([
  [OID.md2, 'MD2'],
  [OID.md4, 'MD4'],
  [OID.md5, 'MD5'],
  [OID.sha1, 'SHA-1'],
]);

/** An AlgorithmIdentifier (RFC 5280 §4.1.1.2). */
export interface AlgorithmIdentifier {
  /** Dotted OID. */
  readonly oid: string;
  readonly parameters: Der | undefined;
}

/** Reads an AlgorithmIdentifier. `tag`: the IMPLICIT tag, if it has one instead of SEQUENCE. */
export function algorithmIdentifierOf(element: Der, name: string, tag: number = TAG.sequence): AlgorithmIdentifier {
  const members = membersOf(element, name, tag);
  const oid = oidOf(members.take(TAG.oid, 'algorithm'), name);
  const [, parameters, more] = element.children;
  if (more !== undefined) refuse('der_trailing', `${name} has more members than it may have.`);
  return { oid, parameters };
}

/** Returns true if there are no parameters. NULL must be accepted as absent (RFC 5754 §2). */
export function hasNoParameters({ parameters }: AlgorithmIdentifier): boolean {
  return parameters === undefined || parameters.tag === TAG.null;
}

/** Returns the digest that an AlgorithmIdentifier names. `codes`: the refusal codes for broken and for unknown digests. */
export function digestOf(
  algorithm: AlgorithmIdentifier,
  name: string,
  codes: { readonly weak: RefusalCode; readonly unknown: RefusalCode },
): DigestAlgorithm {
  const broken = BROKEN_DIGESTS.get(algorithm.oid);
  if (broken !== undefined) refuse(codes.weak, `${name} is ${broken}.`);
  const digest = DIGESTS.get(algorithm.oid);
  if (digest === undefined) refuse(codes.unknown, `${name} is ${algorithm.oid}.`);
  if (!hasNoParameters(algorithm)) refuse('der_malformed', `${name} has parameters.`);
  return digest;
}

export const SIGNATURE_CODES = { weak: 'signature_algorithm_weak', unknown: 'signature_algorithm_unknown' } as const;

/** How a signature was made, according to its AlgorithmIdentifier. */
export type SignatureAlgorithm =
  | { readonly family: 'rsa' | 'ec'; readonly digest: DigestAlgorithm }
  | PssAlgorithm
  | { readonly family: 'ed25519' | 'ed448'; readonly digest: undefined };

export interface PssAlgorithm {
  readonly family: 'rsa-pss';
  readonly digest: DigestAlgorithm;
  readonly saltLength: number;
}

const SIGNATURES: ReadonlyMap<string, SignatureAlgorithm> = new Map<string, SignatureAlgorithm>([
  [OID.sha256WithRsa, { family: 'rsa', digest: 'sha256' }],
  [OID.sha384WithRsa, { family: 'rsa', digest: 'sha384' }],
  [OID.sha512WithRsa, { family: 'rsa', digest: 'sha512' }],
  [OID.ecdsaWithSha256, { family: 'ec', digest: 'sha256' }],
  [OID.ecdsaWithSha384, { family: 'ec', digest: 'sha384' }],
  [OID.ecdsaWithSha512, { family: 'ec', digest: 'sha512' }],
  [OID.ed25519, { family: 'ed25519', digest: undefined }],
  [OID.ed448, { family: 'ed448', digest: undefined }],
]);

const BROKEN_SIGNATURES: ReadonlySet<string> = new Set([
  ...[OID.md2WithRsa, OID.md4WithRsa, OID.md5WithRsa, OID.sha1WithRsa, OID.sha1WithRsaOfOiw],
  ...[OID.ecdsaWithSha1, OID.dsaWithSha1],
]);

/** Returns the algorithm of a signature on a certificate or CRL (RFC 5280 §4.1.1.2). */
export function signatureAlgorithmOf(algorithm: AlgorithmIdentifier, name: string): SignatureAlgorithm {
  if (BROKEN_SIGNATURES.has(algorithm.oid)) refuse('signature_algorithm_weak', `${name} is ${algorithm.oid}.`);
  if (algorithm.oid === OID.rsaPss) return pssAlgorithmOf(algorithm.parameters, name);
  const known = SIGNATURES.get(algorithm.oid);
  if (known === undefined) refuse('signature_algorithm_unknown', `${name} is ${algorithm.oid}.`);
  // RSA has NULL parameters, and absent ones must be accepted (RFC 5754 §3.2). Other algorithms have no parameters (RFC 5758 §3.2, RFC 8410 §3).
  const isAsRequired = known.family === 'rsa' ? hasNoParameters(algorithm) : algorithm.parameters === undefined;
  if (!isAsRequired) refuse('signature_algorithm_mismatch', `${name} has parameters that it must not have.`);
  return known;
}

/** Returns the signature algorithm of a SignerInfo. A SignerInfo names the digest separately (RFC 5652 §5.3), and both must agree. */
export function signerAlgorithmOf(algorithm: AlgorithmIdentifier, digest: DigestAlgorithm, name: string): SignatureAlgorithm {
  // With rsaEncryption, only digestAlgorithm names the digest (RFC 5754 §3.2).
  if (algorithm.oid === OID.rsaEncryption && hasNoParameters(algorithm)) return { family: 'rsa', digest };
  const named = signatureAlgorithmOf(algorithm, name);
  // Ed25519 is used with SHA-512 (RFC 8419 §3.1). Ed448 needs SHAKE256, which is not accepted.
  const expected = named.family === 'ed25519' ? 'sha512' : named.digest;
  if (digest !== expected) refuse('signature_algorithm_mismatch', `${name} does not go with the digest ${digest}.`);
  return named;
}

/**
 * Reads RSASSA-PSS-params (RFC 4055 §3.1). The defaults use SHA-1, so both hash algorithms must be present. A mask of MGF1 with another digest than
 * that of the signature cannot be judged here. RFC 4055 allows it but recommends the same digest, and implementations use the same.
 */
export function pssAlgorithmOf(parameters: Der | undefined, name: string): PssAlgorithm {
  if (parameters === undefined) refuse('signature_algorithm_mismatch', `${name} has no parameters.`);
  const members = membersOf(parameters, name);
  const [hash, mask, salt, trailer] = [0, 1, 2, 3].map((number) => members.optional(TAG.contextConstructed(number)));
  members.end();
  // The only allowed value is the default, 1. DER omits a default, but some CAs write it.
  if (trailer !== undefined && smallIntegerOf(inside(trailer, name)) !== 1) {
    refuse('signature_algorithm_unknown', `${name} has a trailer field that is not known.`);
  }
  if (hash === undefined || mask === undefined) refuse('signature_algorithm_weak', `${name} uses SHA-1 by default.`);
  const digest = digestOf(algorithmIdentifierOf(inside(hash, name), name), name, SIGNATURE_CODES);
  const generator = algorithmIdentifierOf(inside(mask, name), name);
  if (generator.oid !== OID.mgf1 || generator.parameters === undefined) {
    refuse('signature_algorithm_unknown', `${name} has a mask generation function that is not known.`);
  }
  const maskDigest = digestOf(algorithmIdentifierOf(generator.parameters, name), name, SIGNATURE_CODES);
  if (maskDigest !== digest) refuse('signature_algorithm_unknown', `${name} has ${digest} for the message and ${maskDigest} for the mask.`);
  const saltElement = salt === undefined ? undefined : inside(salt, name);
  if (saltElement !== undefined && saltElement.tag !== TAG.integer)
    refuse('der_malformed', `${name} has a salt length that is not a number.`);
  const saltLength = saltElement === undefined ? 20n : integerOf(saltElement, name);
  if (saltLength < 0n || saltLength > 1024n) refuse('signature_algorithm_mismatch', `${name} has an impossible salt length.`);
  return { family: 'rsa-pss', digest, saltLength: Number(saltLength) };
}

/** Returns true if two AlgorithmIdentifiers have exactly the same contents. Their tags may differ. */
export function sameAlgorithm(a: Der, b: Der): boolean {
  return a.children.length === b.children.length && a.children.every((child, i) => derOf(child).equals(derOf(b.children[i]!)));
}

/** Writes the AlgorithmIdentifier of a digest, without parameters (RFC 5754 §2). */
export function digestIdentifier(digest: DigestAlgorithm | 'sha1'): Buffer {
  return sequence(objectIdentifier(OID[digest]));
}

/** Computes a digest. `algorithm` is its name in `node:crypto`. Via text it takes half the time, because a buffer from `hash` needs its own memory. */
export function digestData(algorithm: string, data: Uint8Array): Buffer {
  return Buffer.from(hash(algorithm, data, 'binary'), 'binary');
}
