import { derOf, parseDer, TAG } from '../shared/rfc3161/asn1/der.ts';
import { signedDataOf } from '../shared/rfc3161/cms/signed-data.ts';
import { Refusal } from '../shared/rfc3161/refusal/refusal.ts';
import { grantedTokenOf } from '../shared/rfc3161/tsp/response.ts';
import { type Certificate, parseCertificate } from '../shared/rfc3161/x509/certificate.ts';
import { isCrlOf } from '../shared/rfc3161/x509/crl.ts';
import { isSameName } from '../shared/rfc3161/x509/name.ts';
import { createTrustStore, type TrustStore } from '../shared/rfc3161/x509/trust-store.ts';

/** The certificates that came in a token or an answer; none where they cannot be read. */
function certificatesIn(token: Buffer): readonly Certificate[] {
  try {
    const element = parseDer(token);
    const contentInfo = element.children[0]?.tag === TAG.sequence ? grantedTokenOf(element, true).token : element;
    return signedDataOf(contentInfo).certificates.map((certificate) => parseCertificate(derOf(certificate)));
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

/**
 * Trust in those certificates of a token that no other of them issued. It proves nothing about who signed, only that signature and
 * chain are in order, and where the chain ends.
 */
export function ownTrustOf(token: Buffer): TrustStore {
  const certificates = certificatesIn(token);
  const isIssuedHere = ({ issuer, subject }: Certificate) =>
    !isSameName(issuer, subject) && certificates.some((other) => isSameName(other.subject, issuer));
  return createTrustStore({ anchors: certificates.filter((certificate) => !isIssuedHere(certificate)).map(({ der }) => der) });
}

/** The certificates of a chain, but the anchor, of which no list tells whether they were revoked when the token was made. */
export function uncheckedForRevocation(chain: readonly Certificate[], { crls }: TrustStore, genTimeMs: number): readonly Certificate[] {
  return chain.slice(0, -1).filter((_certificate, index) => {
    const issuer = chain[index + 1]!;
    return !crls.some((list) => list.thisUpdateMs >= genTimeMs && isCrlOf(list, issuer));
  });
}
