import type { VerifyResult } from '../tsp/types.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { RevocationList } from '../x509/crl.ts';
import { isSameName } from '../x509/name.ts';
import { createTrustStore, type TrustStore } from '../x509/trust-store.ts';
import { verifyEvidence } from './verify.ts';

/**
 * Judges a token without a trusted anchor by its own certificates: first with those as anchors that none of the others issued, then, if such a chain
 * is not in order, with the signer's alone. The result proves nothing about the signer. It only shows that the rest is in order, and where the
 * chain ends.
 *
 * @param crls the reader's revocation lists: they revoke certificates regardless of trust
 * @param verify judges the token or record with a trust store
 */
export async function verifyByItself(
  given: Uint8Array,
  { nowMs, crls }: { readonly nowMs: number; readonly crls: readonly RevocationList[] },
  verify: (trust: TrustStore) => Promise<VerifyResult>,
): Promise<VerifyResult> {
  const certificates = await certificatesOf(given, nowMs);
  const isIssuedHere = ({ issuer, subject }: Certificate) =>
    !isSameName(issuer, subject) && certificates.some((other) => isSameName(other.subject, issuer));
  const trustIn = (anchors: readonly Certificate[]) => ({ ...createTrustStore({ anchors: anchors.map(({ der }) => der) }), crls });
  const chained = await verify(trustIn(certificates.filter((certificate) => !isIssuedHere(certificate))));
  return chained.ok ? chained : verify(trustIn(certificates));
}

/** The certificates that the verifier reads: it reads each through the given trust store. */
async function certificatesOf(given: Uint8Array, nowMs: number): Promise<readonly Certificate[]> {
  const certificates: Certificate[] = [];
  const nobody = createTrustStore({ anchors: [] });
  const certificateOf = (der: Buffer) => {
    const certificate = nobody.certificateOf(der);
    certificates.push(certificate);
    return certificate;
  };
  await verifyEvidence(given, { trust: { ...nobody, certificateOf }, nowMs });
  return certificates;
}
