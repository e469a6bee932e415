import { constants, generateKeyPairSync, type KeyPairKeyObjectResult, sign } from 'node:crypto';
import { contextConstructed, integer, nullValue, objectIdentifier, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import type { SignatureScheme } from '../../src/shared/rfc3161/issue/sign.ts';
import { digestIdentifier } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { rsaKey } from './rsa-keys.ts';
import { signedBy } from './tsa-changes.ts';
import { createTsaLab, type SpecimenOptions, type TsaLab } from './tsa-lab.ts';

/** Signature algorithms named rightly or wrongly, like TSAs do, and tokens signed with them. */

export const lab = createTsaLab();

export type Digest = 'sha256' | 'sha384' | 'sha512';
export const DIGESTS: readonly Digest[] = ['sha256', 'sha384', 'sha512'];
export const OCTETS = { sha256: 32, sha384: 48, sha512: 64 };

export const keys = {
  'p-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'p-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'p-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  brainpoolP256r1: generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' }),
  brainpoolP384r1: generateKeyPairSync('ec', { namedCurve: 'brainpoolP384r1' }),
  brainpoolP512r1: generateKeyPairSync('ec', { namedCurve: 'brainpoolP512r1' }),
  rsa: rsaKey('rsa'),
  'rsa-3072': rsaKey('rsa-3072'),
  'rsa-pss': rsaKey('rsa-pss'),
  'rsa-pss-sha384': rsaKey('rsa-pss-sha384'),
} satisfies Record<string, KeyPairKeyObjectResult>;

export function scheme(
  digest: SignatureScheme['digest'],
  identifier: Buffer,
  signer: SignatureScheme['sign'] = (data, key) => sign(digest, data, key),
): SignatureScheme {
  return { digest, certificateAlgorithm: identifier, cmsAlgorithm: identifier, sign: signer };
}

export const ecdsa = (digest: Digest) =>
  scheme(
    digest,
    sequence(objectIdentifier({ sha256: OID.ecdsaWithSha256, sha384: OID.ecdsaWithSha384, sha512: OID.ecdsaWithSha512 }[digest])),
  );
const rsaOid = { sha256: OID.sha256WithRsa, sha384: OID.sha384WithRsa, sha512: OID.sha512WithRsa };
export const rsaNamed = (digest: Digest, ...parameters: readonly Buffer[]) =>
  scheme(digest, sequence(objectIdentifier(rsaOid[digest]), ...parameters));
export const rsaEncryption = (digest: Digest) => scheme(digest, sequence(objectIdentifier(OID.rsaEncryption), nullValue()));

interface Pss {
  hash?: Digest | 'sha1';
  mask?: Digest | 'sha1';
  salt?: number;
  trailer?: number;
  /** The salt used, if it differs from the announced one. */
  usedSalt?: number;
  maskOid?: string;
}

/** RSASSA-PSS as `announced`; the signature uses SHA-256 or the announced digest. */
export function pss(announced: Pss): SignatureScheme {
  const { hash, mask, salt, trailer } = announced;
  const parameters = sequence(
    ...(hash === undefined ? [] : [contextConstructed(0, digestIdentifier(hash))]),
    ...(mask === undefined
      ? []
      : [contextConstructed(1, sequence(objectIdentifier(announced.maskOid ?? OID.mgf1), digestIdentifier(mask)))]),
    ...(salt === undefined ? [] : [contextConstructed(2, integer(salt))]),
    ...(trailer === undefined ? [] : [contextConstructed(3, integer(trailer))]),
  );
  const digest = hash ?? 'sha256';
  const saltLength = announced.usedSalt ?? Math.max(salt ?? 20, 0);
  return scheme(digest, sequence(objectIdentifier(OID.rsaPss), parameters), (data, key) =>
    sign(digest, data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }),
  );
}

/** A token signed by `pair` as `how`. */
export const signedWith =
  (pair: KeyPairKeyObjectResult, how: SignatureScheme) =>
  (lab: TsaLab): SpecimenOptions =>
    signedBy(lab.signer({ key: { ...pair, scheme: how } }));
