import type { Imprint } from '../../../shared/domain/stamp.ts';
import { type CertificateIdentity, createTrustStore, isCrlOf, pemOf } from '../../../shared/rfc3161/index.ts';
import type { WorkflowTools } from '../../workflows/index.ts';
import type { HeldEvidence } from '../held-evidence.ts';

/** A token or an evidence record, with its imprint and the name of its provider. */
interface Evidenced extends HeldEvidence {
  readonly provider: string;
  readonly imprint: Imprint;
}

export interface BundledCertificate {
  readonly role: 'trust_anchor' | 'other';
  readonly subject: string;
  /** SHA-256 of the DER, lower-case hex. */
  readonly fingerprint: string;
  readonly pem: string;
}

/** Collects the certificate chains of many tokens, each certificate once, and the revocation lists of their issuers. */
interface CertificateCollector {
  /** Adds the certificates of some evidence. It is verified only if its first signer or one of its renewals is new. */
  add(evidenced: Evidenced): Promise<void>;
  /** Trust anchors first. Each group is sorted by fingerprint, so that the order is the same each time. */
  certificates(): readonly BundledCertificate[];
  /** PEM. */
  revocationLists(): readonly string[];
}

/**
 * The maximum number of pieces of evidence that are verified for one bundle. The certificates of further signers are left out; a TSA has few signers.
 */
const mostJudged = 64;

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function createCertificateCollector({ stampJudge, trust }: WorkflowTools): CertificateCollector {
  const revocationLists = trust.providers.flatMap(({ settings: { crl } }) => crl ?? []);
  const signers: Buffer[] = [];
  const anchors = new Map<string, CertificateIdentity>();
  const others = new Map<string, CertificateIdentity>();
  const renewals = new Set<string>();
  let judged = 0;

  function keep(chain: readonly CertificateIdentity[]): void {
    const anchor = chain.at(-1)!;
    signers.push(chain[0]!.der);
    anchors.set(anchor.fingerprint, anchor);
    for (const certificate of chain.slice(0, -1)) others.set(certificate.fingerprint, certificate);
  }

  const shown = (role: BundledCertificate['role'], found: ReadonlyMap<string, CertificateIdentity>): BundledCertificate[] =>
    [...found.values()]
      .map(({ subject, fingerprint, der }) => ({ role, subject, fingerprint, pem: pemOf('CERTIFICATE', der) }))
      .sort((a, b) => byText(a.fingerprint, b.fingerprint));

  return {
    add: async ({ bytes, first, renewalIds, newImprints, provider, imprint }) => {
      const isKnown = () => signers.some((signer) => first.includes(signer)) && renewalIds.every((id) => renewals.has(id));
      if (judged >= mostJudged || isKnown()) return;
      judged += 1;
      const judgement = await stampJudge.judgeToken(bytes.toString('base64'), { provider, imprints: [imprint, ...newImprints] });
      if (!judgement.ok || !judgement.verified) return;
      for (const { chain } of judgement.verified.record?.tokens ?? [judgement.verified]) keep(chain);
      for (const id of renewalIds) renewals.add(id);
    },
    certificates: () => [
      ...shown('trust_anchor', anchors),
      ...shown('other', new Map([...others].filter(([fingerprint]) => !anchors.has(fingerprint)))),
    ],
    revocationLists: () => {
      const found = [...anchors.values(), ...others.values()].map(({ der }) => der);
      const { certificates } = createTrustStore({ anchors: found });
      const { crls } = createTrustStore({ anchors: [], crls: revocationLists });
      const ofThese = crls.filter((list) => certificates.some((certificate) => isCrlOf(list, certificate)));
      return [...new Set(ofThese.map(({ der }) => pemOf('X509 CRL', der)))].sort(byText);
    },
  };
}
