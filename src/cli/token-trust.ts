import { type Certificate, createTrustStore, isCrlOf, isSameName, type TrustStore, verifyEvidence } from '../shared/rfc3161/index.ts';

/**
 * Trust in a token's own certificates: first in those that no other of them issued, then, where such a chain is not in order, in the
 * signer's alone. It proves nothing about who signed, only that the signature is in order, and where the chain ends.
 */
export function ownTrustsOf(token: Buffer, nowMs: number): readonly [TrustStore, TrustStore] {
  const certificates = certificatesIn(token, nowMs);
  const isIssuedHere = ({ issuer, subject }: Certificate) =>
    !isSameName(issuer, subject) && certificates.some((other) => isSameName(other.subject, issuer));
  const trustIn = (anchors: readonly Certificate[]) => createTrustStore({ anchors: anchors.map(({ der }) => der) });
  return [trustIn(certificates.filter((certificate) => !isIssuedHere(certificate))), trustIn(certificates)];
}

/** The certificates that came in a token, as far as the verifier comes: it reads each by way of the trust store that it is given. */
function certificatesIn(token: Buffer, nowMs: number): readonly Certificate[] {
  const certificates: Certificate[] = [];
  const nobody = createTrustStore({ anchors: [] });
  const certificateOf = (der: Buffer) => {
    const certificate = nobody.certificateOf(der);
    certificates.push(certificate);
    return certificate;
  };
  verifyEvidence(token, { trust: { ...nobody, certificateOf }, nowMs });
  return certificates;
}

/** The certificates of a chain, but the anchor, of which no list tells whether they were revoked when the token was made. */
export function uncheckedForRevocation(chain: readonly Certificate[], { crls }: TrustStore, genTimeMs: number): readonly Certificate[] {
  return chain.slice(0, -1).filter((_certificate, index) => {
    const issuer = chain[index + 1]!;
    return !crls.some((list) => list.thisUpdateMs >= genTimeMs && isCrlOf(list, issuer));
  });
}
