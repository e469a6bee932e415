import type { VerifyResult } from '../tsp/types.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName } from '../x509/name.ts';
import { createTrustStore, type TrustStore } from '../x509/trust-store.ts';
import { verifyEvidence } from './verify.ts';

/**
 * Judges a token that no trust anchor covers by its own certificates. First, its certificates without an issuer in the token are the anchors. If the
 * token is refused then, all its certificates are anchors, so that the signer's certificate needs no chain. The result proves nothing about the
 * signer. It only shows that the token has no other fault, and where its chain ends.
 *
 * @param reader the reader's trust store: its revocation lists revoke certificates regardless of trust, and its certificates show who signed the lists
 * @param verify judges the token or record with a trust store
 */
export async function verifyByItself(
  given: Uint8Array,
  { nowMs, reader }: { readonly nowMs: number; readonly reader: TrustStore },
  verify: (trust: TrustStore) => Promise<VerifyResult>,
): Promise<VerifyResult> {
  const certificates = await certificatesOf(given, nowMs);
  const isIssuedHere = ({ issuer, subject }: Certificate) =>
    !isSameName(issuer, subject) && certificates.some((other) => isSameName(other.subject, issuer));
  const trustIn = (anchors: readonly Certificate[]) => {
    const own = createTrustStore({ anchors: anchors.map(({ der }) => der) });
    return { ...own, certificates: [...own.certificates, ...reader.certificates], crls: reader.crls };
  };
  const chained = await verify(trustIn(certificates.filter((certificate) => !isIssuedHere(certificate))));
  return chained.ok ? chained : verify(trustIn(certificates));
}

/** Returns the certificates that the verifier reads. It reads each of them with `certificateOf` of the trust store, which collects them here. */
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
