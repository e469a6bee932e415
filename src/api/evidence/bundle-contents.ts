import { Readable } from 'node:stream';
import { type EvidenceDocument, type OutputLine, qualifiedShown, type StampKind } from '../../shared/contract/evidence-bundle.ts';
import { isQualified, type Qualification } from '../../shared/domain/qualification.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import { listFile } from '../../shared/proof/bundle-files.js';
import type { ClosingRecord } from '../../shared/proof/closing-record.js';
import { type CertificateIdentity, createTrustStore, isCrlOf, pemOf } from '../../shared/rfc3161/index.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import type { HeldEvidence } from './stamp-evidence.ts';

/** A stamp as public evidence. */
export interface EvidenceStamp {
  readonly kind: StampKind;
  /** DER; empty if there is nothing that other people could check. */
  readonly bytes: Buffer;
}

export interface EvidenceSeal extends EvidenceStamp {
  readonly stampId: string;
  readonly issuedAt: string;
  readonly hash: string;
  /** Undefined if the seal does not verify any more. */
  readonly qualification: SealQualification['qualification'] | undefined;
}

/** The public evidence of a completed workflow. Root, chain, tree and closing record are verified; the outputs' own stamps are not. */
export interface BundleContents {
  readonly record: ClosingRecord;
  /** The text of the closing record, exactly as it was stamped. */
  readonly recordText: string;
  readonly root: EvidenceSeal;
  readonly closing: EvidenceSeal;
  /** The bytes whose SHA-256 is the root. */
  readonly rootPreimage: Buffer;
  /** Undefined if they were not asked for. */
  readonly lists: readonly BundledList[] | undefined;
  /** The certificates of the two seals. After `stamps` was read, also those of the outputs' stamps. */
  certificates(): readonly BundledCertificate[];
  revocationLists(): readonly string[];
  /** The hashes of an output's inclusion path, from the lowest level up, in lower-case hex. */
  pathOf(number: number): readonly string[];
  /** All outputs in order, as stored. @throws ServiceError if one differs from the recomputed chain */
  outputs(): AsyncIterable<OutputLine>;
  /** The outputs' own stamps, from number `first` to `last`, as stored: they are not verified. */
  stamps(first: number, last: number): AsyncIterable<OutputLine & EvidenceStamp>;
}

const chunkCharacters = 64 * 1024;

/** Joins pieces of text into fewer, larger buffers. */
export async function* inChunks(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  let waiting: string[] = [];
  let characters = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < chunkCharacters) continue;
    yield Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
  }
  if (waiting.length > 0) yield Buffer.from(waiting.join(''));
}

const tokenShown = ({ kind, bytes }: EvidenceStamp) => ({ kind, token: kind === 'none' ? null : bytes.toString('base64') });

const sealShown = (seal: EvidenceSeal): EvidenceDocument['root']['stamp'] => ({
  stamp_id: seal.stampId,
  issued_at: seal.issuedAt,
  ...tokenShown(seal),
  qualified: seal.qualification ? qualifiedShown(seal.qualification) : null,
});

/** The evidence as one JSON document. It is streamed, so memory does not grow with the number of outputs. */
export function evidenceDocumentOf(evidence: BundleContents): Readable {
  const { record, recordText, root, closing, rootPreimage, lists } = evidence;
  const head: Pick<EvidenceDocument, 'format' | 'workflow_id' | 'closing_record' | 'root'> = {
    format: 'qstamp-evidence/1',
    workflow_id: record.workflow_id,
    closing_record: { text: recordText, hash: closing.hash, stamp: sealShown(closing) },
    root: { hash: root.hash, preimage: rootPreimage.toString('hex'), stamp: sealShown(root) },
  };
  async function* write(): AsyncGenerator<string> {
    yield `${JSON.stringify(head).slice(0, -1)},"outputs":[`;
    let comma = '';
    for await (const output of evidence.stamps(1, record.output_count)) {
      const shown: EvidenceDocument['outputs'][number] = {
        sequence_number: output.number,
        output_hash: output.outputHash,
        chain_hash: output.chainHash,
        output_type: output.type,
        inclusion_path: [...evidence.pathOf(output.number)],
        stamp_id: output.stampId,
        ...tokenShown(output),
      };
      yield `${comma}${JSON.stringify(shown)}`;
      comma = ',';
    }
    const tail: Pick<EvidenceDocument, 'certificates' | 'revocation_lists' | 'trusted_lists'> = {
      certificates: evidence.certificates().map(({ role, subject, fingerprint, pem }) => ({ role, subject, sha256: fingerprint, pem })),
      revocation_lists: [...evidence.revocationLists()],
      ...(lists && {
        trusted_lists: lists.map(({ territory, number: list_number, sha256 }) => {
          return { territory, list_number, sha256, address: `/trusted-lists/${sha256}` };
        }),
      }),
    };
    yield `],${JSON.stringify(tail).slice(1)}`;
  }
  return Readable.from(inChunks(write()), { objectMode: false });
}

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

/**
 * The maximum number of pieces of evidence that are verified for one bundle. The certificates of further signers are left out; a TSA has few signers.
 */
const mostJudged = 64;

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Collects the certificate chains of many tokens, each certificate once, and the revocation lists of their issuers. */
export function createCertificateCollector({ stampJudge, trust }: WorkflowTools) {
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
    /** Adds the certificates of some evidence. It is verified only if its first signer or one of its renewals is new. */
    add: async ({ bytes, first, renewalIds, newImprints, provider, imprint }: Evidenced): Promise<void> => {
      const isKnown = () => signers.some((signer) => first.includes(signer)) && renewalIds.every((id) => renewals.has(id));
      if (judged >= mostJudged || isKnown()) return;
      judged += 1;
      const judgement = await stampJudge.judgeToken(bytes.toString('base64'), { provider, imprints: [imprint, ...newImprints] });
      if (!judgement.ok || !judgement.verified) return;
      for (const { chain } of judgement.verified.record?.tokens ?? [judgement.verified]) keep(chain);
      for (const id of renewalIds) renewals.add(id);
    },
    /** Trust anchors first. Each group is sorted by fingerprint, so that the order is the same each time. */
    certificates: (): readonly BundledCertificate[] => [
      ...shown('trust_anchor', anchors),
      ...shown('other', new Map([...others].filter(([fingerprint]) => !anchors.has(fingerprint)))),
    ],
    /** PEM. */
    revocationLists: (): readonly string[] => {
      const found = [...anchors.values(), ...others.values()].map(({ der }) => der);
      const { certificates } = createTrustStore({ anchors: found });
      const { crls } = createTrustStore({ anchors: [], crls: revocationLists });
      const ofThese = crls.filter((list) => certificates.some((certificate) => isCrlOf(list, certificate)));
      return [...new Set(ofThese.map(({ der }) => pemOf('X509 CRL', der)))].sort(byText);
    },
  };
}

/** A trusted list in a bundle, as it was signed. */
export interface BundledList {
  readonly name: string;
  readonly territory: string;
  readonly number: number;
  readonly sha256: string;
  readonly xml: Buffer;
}

/** Whether a seal is qualified, and the lists that say so. */
interface SealQualification {
  readonly qualification: Qualification;
  /** The list under which it was made, and the list of lists that led to it. Empty if no list says that the seal is qualified. */
  readonly lists: readonly BundledList[];
}

/**
 * Finds out whether a seal is qualified. Its lists are those under which it was made, if the service has kept this: they stay the same when newer lists
 * come into force, and so do the bytes of the bundle.
 */
export async function qualifySeal(
  { store, stampJudge }: WorkflowTools,
  stamp: StoredStamp,
  withLists: boolean,
): Promise<SealQualification | undefined> {
  const judgement = await stampJudge.judgeStamp(stamp);
  if (!judgement.ok) return undefined;
  const { qualification, verified } = judgement;
  if (!withLists || !verified || !qualification.listed || !isQualified(qualification)) return { qualification, lists: [] };
  const kept = await store.listings.findAt(verified.signer.fingerprint, verified.genTime);
  const ofThen = kept && (await readList(store, kept.listed.listSha256));
  if (!ofThen) {
    const now = await readList(store, qualification.listed.listSha256);
    return { qualification, lists: now ? [now] : [] };
  }
  const listOfLists = kept.listOfLists && (await readList(store, kept.listOfLists.sha256));
  return {
    qualification: { ...qualification, listed: { ...kept.listed, atProofOfExistence: null } },
    lists: listOfLists ? [ofThen, listOfLists] : [ofThen],
  };
}

async function readList({ trustedLists }: Store, sha256: string): Promise<BundledList | undefined> {
  const found = await trustedLists.findXml(sha256);
  if (!found) return undefined;
  const { territory, sequenceNumber: number } = found.said;
  return { name: listFile(found.said), territory, number, sha256, xml: found.xml };
}
