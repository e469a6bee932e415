import { constants, hash, type KeyObject, sign } from 'node:crypto';
import { contextConstructed, integer, nullValue, objectIdentifier, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';

/** A way to sign, as it is named in X.509 and in CMS. */
export interface SignatureScheme {
  /** digestAlgorithm of the SignerInfo: what messageDigest is computed with. */
  digest: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  /** AlgorithmIdentifier in a certificate or CRL. */
  certificateAlgorithm: Buffer;
  /** AlgorithmIdentifier in a SignerInfo. */
  cmsAlgorithm: Buffer;
  sign(data: Uint8Array, key: KeyObject): Buffer;
}

const sha256Identifier = sequence(objectIdentifier(OID.sha256));
const rsaPssIdentifier = sequence(
  objectIdentifier(OID.rsaPss),
  // RSASSA-PSS-params (RFC 4055 §3.1): SHA-256, MGF1 with SHA-256, a salt as long as the digest.
  sequence(
    contextConstructed(0, sha256Identifier),
    contextConstructed(1, sequence(objectIdentifier(OID.mgf1), sha256Identifier)),
    contextConstructed(2, integer(32)),
  ),
);

function ecdsa(oid: string, digest: 'sha256' | 'sha384'): SignatureScheme {
  // RFC 5758 §3.2: no parameters.
  const identifier = sequence(objectIdentifier(oid));
  return { digest, certificateAlgorithm: identifier, cmsAlgorithm: identifier, sign: (data, key) => sign(digest, data, key) };
}

export const SCHEMES = {
  ecdsaSha256: ecdsa(OID.ecdsaWithSha256, 'sha256'),
  ecdsaSha384: ecdsa(OID.ecdsaWithSha384, 'sha384'),
  rsaSha256: {
    digest: 'sha256',
    certificateAlgorithm: sequence(objectIdentifier(OID.sha256WithRsa), nullValue()),
    // RFC 5754 §3.2: rsaEncryption is the identifier that every CMS implementation must know.
    cmsAlgorithm: sequence(objectIdentifier(OID.rsaEncryption), nullValue()),
    sign: (data, key) => sign('sha256', data, key),
  },
  rsaPssSha256: {
    digest: 'sha256',
    certificateAlgorithm: rsaPssIdentifier,
    cmsAlgorithm: rsaPssIdentifier,
    sign: (data, key) => sign('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
  },
  ed25519: {
    // RFC 8419 §2.3: SHA-512 digests the content when signed attributes are present.
    digest: 'sha512',
    certificateAlgorithm: sequence(objectIdentifier(OID.ed25519)),
    cmsAlgorithm: sequence(objectIdentifier(OID.ed25519)),
    sign: (data, key) => sign(null, data, key),
  },
} as const satisfies Record<string, SignatureScheme>;

/** AlgorithmIdentifier of a digest without parameters (RFC 5754 §2). */
export function digestIdentifier(digest: SignatureScheme['digest']): Buffer {
  return sequence(objectIdentifier(OID[digest]));
}

/** A message digest; `algorithm` as `node:crypto` names it. */
export function digestData(algorithm: string, data: Uint8Array): Buffer {
  return hash(algorithm, data, 'buffer');
}
