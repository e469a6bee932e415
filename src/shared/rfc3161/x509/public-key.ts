import { constants, createPublicKey, type KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto';
import { type Der, derOf, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, octetsOfBitString, oidOf } from '../asn1/der-values.ts';
import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import { algorithmIdentifierOf, type PssAlgorithm, pssAlgorithmOf, type SignatureAlgorithm } from './algorithms.ts';

/** A public key that is strong enough, in a form that `node:crypto` can use. */
export interface PublicKey {
  readonly family: 'rsa' | 'rsa-pss' | 'ec' | 'ed25519' | 'ed448';
  readonly key: KeyObject;
  /** The parameters that an RSASSA-PSS key allows. Undefined: any (RFC 4055 §3.1). */
  readonly pss: PssAlgorithm | undefined;
}

const MIN_RSA_BITS = 2048;
/** Larger keys are not judged, because verification with them is so slow that tokens could keep a core busy. */
const MAX_RSA_BITS = 8192;
const CURVES: ReadonlySet<string> = new Set([OID.p256, OID.p384, OID.p521, OID.brainpoolP256r1, OID.brainpoolP384r1, OID.brainpoolP512r1]);

/** The size of a coordinate on P-256, the smallest curve that is strong enough, in octets. */
const MIN_COORDINATE_OCTETS = 32;

/**
 * Reads the key in a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). Refuses a weak key as `key_too_weak`, and a key that cannot be judged here as
 * `key_unknown` (refusal 46).
 */
export function publicKeyOf(spki: Der): PublicKey {
  const members = membersOf(spki, 'subjectPublicKeyInfo');
  const algorithm = algorithmIdentifierOf(members.take(TAG.sequence, 'algorithm'), 'the algorithm of the key');
  const bits = octetsOfBitString(members.take(TAG.bitString, 'subjectPublicKey'), 'subjectPublicKey');
  members.end();
  const { oid, parameters } = algorithm;
  switch (oid) {
    case OID.rsaEncryption:
      checkRsa(bits);
      return { family: 'rsa', key: keyObjectOf(spki), pss: undefined };
    case OID.rsaPss:
      checkRsa(bits);
      return {
        family: 'rsa-pss',
        key: keyObjectOf(spki),
        pss: parameters === undefined ? undefined : pssAlgorithmOf(parameters, 'the key'),
      };
    case OID.ecPublicKey: {
      // RFC 5480 §2.1.1 forbids parameters instead of a name: a forger can choose them so that the key of another fits.
      if (parameters?.tag !== TAG.oid) refuse('key_too_weak', 'The curve of the key has no name.');
      const curve = oidOf(parameters, 'the curve of the key');
      if (!CURVES.has(curve)) {
        const isShort = coordinateOctetsOf(bits) < MIN_COORDINATE_OCTETS;
        refuse(isShort ? 'key_too_weak' : 'key_unknown', `The curve ${curve} is not accepted.`);
      }
      return { family: 'ec', key: keyObjectOf(spki), pss: undefined };
    }
    case OID.ed25519:
    case OID.ed448:
      return { family: oid === OID.ed25519 ? 'ed25519' : 'ed448', key: keyObjectOf(spki), pss: undefined };
    default:
      return refuse('key_unknown', `Keys of the algorithm ${oid} are not accepted.`);
  }
}

/** Checks the size and the exponent of an RSAPublicKey (RFC 8017 A.1.1). */
function checkRsa(octets: Buffer): void {
  const members = membersOf(parseDer(octets), 'RSAPublicKey');
  const modulus = integerOf(members.take(TAG.integer, 'modulus'), 'modulus');
  const exponent = integerOf(members.take(TAG.integer, 'publicExponent'), 'publicExponent');
  members.end();
  const bits = modulus > 0n ? modulus.toString(2).length : 0;
  if (bits < MIN_RSA_BITS) refuse('key_too_weak', `The RSA key has ${bits} bits.`);
  // FIPS 186-5 §A.1.1 requires an odd exponent above 2^16, but old roots use 3.
  if (exponent < 3n || exponent % 2n === 0n) refuse('key_too_weak', 'The RSA key has an impossible exponent.');
  // A huge exponent is not judged, because it only costs time.
  if (bits > MAX_RSA_BITS || exponent >= 1n << 64n) refuse('key_unknown', `The RSA key, of ${bits} bits, or its exponent is too large.`);
}

/** Returns the size of a coordinate of an ECPoint, in octets. A point has two of them, or one if it is compressed (SEC 1 §2.3.3). */
const coordinateOctetsOf = (point: Buffer): number => (point.length - 1) / (point[0] === 0x04 ? 2 : 1);

function keyObjectOf(spki: Der): KeyObject {
  try {
    return createPublicKey({ key: derOf(spki), format: 'der', type: 'spki' });
  } catch (error) {
    return refuse('certificate_malformed', `The key cannot be read: ${error instanceof Error ? error.message : 'unknown reason'}.`);
  }
}

/**
 * Resolves to true if `key` made `signature` over `data`. The signature is verified in the thread pool of Node.js.
 *
 * @throws Refusal `signature_algorithm_mismatch` if this kind of key cannot make this kind of signature
 */
export async function isSignatureOf(
  key: PublicKey,
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const input = verifyInputOf(key, algorithm);
  return new Promise((resolve) => {
    try {
      verify(algorithm.digest, data, input, signature, (error, holds) => resolve(error === null && holds));
    } catch {
      resolve(false); // OpenSSL throws for a signature that it cannot decode.
    }
  });
}

/** Like `isSignatureOf`, but in this thread. It is for certificates and revocation lists, whose results are cached. @throws like `isSignatureOf` */
export function isSignatureOfSync(key: PublicKey, algorithm: SignatureAlgorithm, data: Uint8Array, signature: Uint8Array): boolean {
  const input = verifyInputOf(key, algorithm);
  try {
    return verify(algorithm.digest, data, input, signature);
  } catch {
    return false;
  }
}

function verifyInputOf(key: PublicKey, algorithm: SignatureAlgorithm): KeyObject | VerifyKeyObjectInput {
  // A plain RSA key can make both kinds of RSA signature, but a PSS key only PSS signatures.
  const fits = key.family === algorithm.family || (key.family === 'rsa' && algorithm.family === 'rsa-pss');
  if (!fits) refuse('signature_algorithm_mismatch', `A key for ${key.family} cannot make a signature of ${algorithm.family}.`);
  if (algorithm.family !== 'rsa-pss') return key.key;
  if (key.pss !== undefined && (key.pss.digest !== algorithm.digest || key.pss.saltLength > algorithm.saltLength)) {
    refuse('signature_algorithm_mismatch', 'The key does not allow the parameters of the signature.');
  }
  return { key: key.key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltLength };
}
