import { createPublicKey, type KeyObject } from 'node:crypto';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName, isSelfIssued } from '../x509/name.ts';
import type { SigningIdentity } from './issue.ts';
import { schemeOfKey } from './sign.ts';

/** The error for a key and certificates that cannot be those of a TSA. The message is a clause with the reason: its subject is the key. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
}

/** Returns the certificates above `signer`, nearest first, without the root. The list ends at the first certificate that is not in `certificates`. */
function chainAbove(signer: Certificate, certificates: readonly Certificate[]): Buffer[] {
  const chain: Certificate[] = [];
  let last = signer;
  while (!isSelfIssued(last)) {
    const above = certificates.find((candidate) => isSameName(candidate.subject, last.issuer) && !chain.includes(candidate));
    if (above === undefined || isSelfIssued(above)) break;
    chain.push(above);
    last = above;
  }
  return chain.map(({ der }) => der);
}

/**
 * Makes the signing identity of a TSA from its private key and from certificates in any order: it takes the certificate of the key, and the
 * certificates above this one. It does not check that they are suitable for time-stamps: the caller verifies a first token for that.
 *
 * @throws IdentityError if no certificate belongs to the key, or if the key cannot make time-stamps
 */
export function identityOf(privateKey: KeyObject, certificates: readonly Certificate[]): SigningIdentity {
  const publicKey = createPublicKey(privateKey);
  const own = certificates.find((certificate) => {
    try {
      return certificate.publicKey().key.equals(publicKey);
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  });
  if (own === undefined)
    throw new IdentityError('does not belong to any of the certificates, or is of a kind that verifiers do not accept');
  const scheme = schemeOfKey(own.publicKey());
  if (scheme === undefined) throw new IdentityError(`is of a kind that cannot make time-stamps: ${privateKey.asymmetricKeyType}`);
  const { der: certificate, subject: subjectName, issuer: issuerName, serialNumber } = own;
  return { certificate, subjectName, issuerName, serialNumber, privateKey, scheme, chain: chainAbove(own, certificates) };
}
