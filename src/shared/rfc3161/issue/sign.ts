import { constants, type KeyObject, sign } from 'node:crypto';
import { contextConstructed, integer, nullValue, objectIdentifier, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import { DIGEST_OCTETS, type DigestAlgorithm } from '../x509/algorithms.ts';
import type { PublicKey } from '../x509/public-key.ts';

/** A signature algorithm, with its identifiers in X.509 and in CMS. */
export interface SignatureScheme {
  /** The digestAlgorithm of the SignerInfo. The messageDigest attribute uses it too. */
  digest: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  /** The AlgorithmIdentifier in a certificate or CRL. */
  certificateAlgorithm: Buffer;
  /** The AlgorithmIdentifier in a SignerInfo. */
  cmsAlgorithm: Buffer;
  sign(data: Uint8Array, key: KeyObject): Buffer;
}

/** Makes the scheme for RSASSA-PSS with MGF1 of the same digest (RFC 4055 §3.1). `saltLength` is in octets. */
export function rsaPss(digest: DigestAlgorithm, saltLength: number): SignatureScheme {
  const hashIdentifier = sequence(objectIdentifier(OID[digest]));
  const parameters = sequence(
    contextConstructed(0, hashIdentifier),
    contextConstructed(1, sequence(objectIdentifier(OID.mgf1), hashIdentifier)),
    contextConstructed(2, integer(saltLength)),
  );
  const identifier = sequence(objectIdentifier(OID.rsaPss), parameters);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return {
    digest,
    certificateAlgorithm: identifier,
    cmsAlgorithm: identifier,
    sign: (data, key) => sign(digest, data, { key, padding, saltLength }),
  };
}

function ecdsa(oid: string, digest: DigestAlgorithm): SignatureScheme {
  // The identifier has no parameters (RFC 5758 §3.2).
  const identifier = sequence(objectIdentifier(oid));
  return { digest, certificateAlgorithm: identifier, cmsAlgorithm: identifier, sign: (data, key) => sign(digest, data, key) };
}

export const SCHEMES = {
  ecdsaSha256: ecdsa(OID.ecdsaWithSha256, 'sha256'),
  ecdsaSha384: ecdsa(OID.ecdsaWithSha384, 'sha384'),
  ecdsaSha512: ecdsa(OID.ecdsaWithSha512, 'sha512'),
  rsaSha256: {
    digest: 'sha256',
    certificateAlgorithm: sequence(objectIdentifier(OID.sha256WithRsa), nullValue()),
    // rsaEncryption is the identifier that every CMS implementation must know (RFC 5754 §3.2).
    cmsAlgorithm: sequence(objectIdentifier(OID.rsaEncryption), nullValue()),
    sign: (data, key) => sign('sha256', data, key),
  },
  rsaPssSha256: rsaPss('sha256', 32),
  ed25519: {
    // With signed attributes, the digest of the content is SHA-512 (RFC 8419 §2.3).
    digest: 'sha512',
    certificateAlgorithm: sequence(objectIdentifier(OID.ed25519)),
    cmsAlgorithm: sequence(objectIdentifier(OID.ed25519)),
    sign: (data, key) => sign(null, data, key),
  },
} as const satisfies Record<string, SignatureScheme>;

const CURVES: Readonly<Record<string, SignatureScheme>> = {
  prime256v1: SCHEMES.ecdsaSha256,
  secp384r1: SCHEMES.ecdsaSha384,
  secp521r1: SCHEMES.ecdsaSha512,
};

/** Returns the scheme with which a TSA signs with this kind of key, or undefined for Ed448, which verifiers do not accept (RFC 8419 §3.1). */
export function schemeOfKey({ family, key, pss }: PublicKey): SignatureScheme | undefined {
  switch (family) {
    case 'rsa':
      return SCHEMES.rsaSha256;
    case 'rsa-pss':
      return pss === undefined ? SCHEMES.rsaPssSha256 : rsaPss(pss.digest, Math.max(pss.saltLength, DIGEST_OCTETS[pss.digest]));
    case 'ec':
      return CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
    case 'ed25519':
      return SCHEMES.ed25519;
    case 'ed448':
      return undefined;
  }
}
