import { createPublicKey, type KeyObject } from 'node:crypto';
import { Refusal } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName, isSelfIssued } from '../x509/name.ts';
import type { SigningIdentity } from './issue.ts';
import { schemeOfKey } from './sign.ts';

/** A key and certificates that do not make a TSA. `message` is a clause that says why. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
}

/** The certificates above `signer`, nearest first, without the root: as many as are given. */
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
 * What a TSA signs with: the private key, and of the certificates, in any order, the one that is its own and those above it. Whether
 * they are fit for time-stamps is for the verifier to say, of a first token.
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
  if (own === undefined) throw new IdentityError('does not belong to any of the certificates, or is of a kind that no verifier takes');
  const scheme = schemeOfKey(own.publicKey());
  if (scheme === undefined) throw new IdentityError(`is of a kind that makes no time-stamps: ${privateKey.asymmetricKeyType}`);
  const { der: certificate, subject: subjectName, issuer: issuerName, serialNumber } = own;
  return { certificate, subjectName, issuerName, serialNumber, privateKey, scheme, chain: chainAbove(own, certificates) };
}
