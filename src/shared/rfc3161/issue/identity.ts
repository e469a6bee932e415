import { createPublicKey, type KeyObject } from 'node:crypto';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName, isSelfIssued } from '../x509/name.ts';
import type { SigningIdentity } from './issue.ts';
import { schemeOfKey } from './sign.ts';

/** A key and certificates that do not form a TSA. `message` is a clause with the reason. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
}

/** The certificates above `signer`, nearest first, without the root, as far as given. */
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
 * The signing identity of a TSA: the private key, and from the certificates, in any order, its own and those above it. Whether they are suitable
 * for time-stamps is checked by verifying a first token.
 *
 * @throws IdentityError
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
