import type { StampKind } from '../../shared/contract/evidence-bundle.ts';
import { isQualified, type Qualification } from '../../shared/domain/qualification.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Imprint, sha256Imprint } from '../../shared/domain/stamp.ts';
import { listFile } from '../../shared/proof/bundle-files.js';
import { type ClosingRecord, readClosingRecord } from '../../shared/proof/closing-record.js';
import { hashBytes, splitOf } from '../../shared/proof/merkle-tree.js';
import { octetsOfSha256 } from '../../shared/proof/octets.js';
import { type CertificateIdentity, createTrustStore, isCrlOf, isEvidenceRecord, pemOf } from '../../shared/rfc3161/index.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { brokenRecord, proveSealedChain, type RecomputedChain, type Seal, type WorkflowTools } from '../workflows/index.ts';
import { createHeldEvidenceReader, type HeldEvidence } from './stamp-evidence.ts';

/** The number of outputs, and the number of stamps, that are read at a time. A stamp takes up to 15 kB. */
const outputsPage = 1_000;
const stampsPage = 100;

const typePattern = /^[a-z0-9._+-]{1,64}$/;

/** The public evidence of a completed workflow. */
export interface BundleContents {
  readonly record: ClosingRecord;
  /** The text of the closing record, exactly as it was stamped. */
  readonly recordText: string;
  readonly root: EvidenceSeal;
  readonly closing: EvidenceSeal;
  /** The bytes whose SHA-256 is the root. */
  readonly rootPreimage: Buffer;
  /** The trusted lists that say that the seals are qualified. Undefined: they were not asked for. */
  readonly lists: readonly BundledList[] | undefined;
  /**
   * The certificates of the two seals. Reading `stamps` adds those of the outputs' stamps, so for all certificates and revocation lists, read `stamps`
   * to the end first.
   */
  certificates(): readonly BundledCertificate[];
  /** PEM. The lists of the issuers among `certificates`. */
  revocationLists(): readonly string[];
  /** The hashes of an output's inclusion path, from the lowest level up, in lower-case hex. */
  pathOf(number: number): readonly string[];
  outputs(): AsyncGenerator<OutputLine>;
  /** The outputs' own stamps, from number `first` to `last`. */
  stamps(first: number, last: number): AsyncGenerator<OutputLine & EvidenceBytes>;
}

/** A stamp's token or evidence record, DER; empty if there is nothing that other people could check. */
interface EvidenceBytes {
  readonly kind: StampKind;
  readonly bytes: Buffer;
}

export interface EvidenceSeal extends EvidenceBytes {
  readonly stampId: string;
  readonly issuedAt: string;
  readonly hash: string;
  /** Undefined if the seal does not verify any more. */
  readonly qualification: Qualification | undefined;
}

interface OutputLine {
  readonly number: number;
  readonly outputHash: string;
  readonly chainHash: string;
  readonly type: string;
  readonly stampId: string;
}

/**
 * Collects the public evidence of a completed workflow. The root, the chain, the tree and the closing record are recomputed and verified for each
 * answer. The outputs' own stamps are given as stored: the reader of the evidence must verify them.
 *
 * @param withLists with the trusted lists that say that the seals are qualified
 * @throws ServiceError `not_found`, and everything that `proveSealedChain` throws
 */
export async function gatherEvidence(tools: WorkflowTools, workflow: WorkflowRecord, withLists: boolean): Promise<BundleContents> {
  const { stamps } = tools.store;
  if (workflow.status !== 'completed') {
    throw new ServiceError('not_found', 'This workflow is not completed, so it has no evidence yet.');
  }
  const { chain, seals } = await proveSealedChain(tools, workflow);
  const { text: recordText = '' } = workflow.closingRecord ?? {};
  const record = readClosingRecord(recordText);
  if (!record || !seals.root || !seals.closingRecord) throw brokenRecord();
  const size = chain.end.sequenceNumber;
  const certificates = createCertificateCollector(tools);
  const readHeld = createHeldEvidenceReader(tools.stampJudge);
  const read = async (stored: StoredStamp | null | undefined, hash: string): Promise<EvidenceBytes> => {
    const held = stored ? await readHeld(stored) : undefined;
    if (!stored || !held) return { kind: 'none', bytes: Buffer.alloc(0) };
    await certificates.add({ ...held, provider: stored.proofs[0].provider, imprint: sha256Imprint(hash) });
    return { kind: isEvidenceRecord(held.bytes) ? 'record' : 'token', bytes: held.bytes };
  };
  const lists = new Map<string, BundledList>();
  const sealOf = async ({ hash, stamp: { tokenId: stampId, stampedAt: issuedAt }, stored }: Seal): Promise<EvidenceSeal> => {
    const qualified = stored ? await qualifySeal(tools, stored, withLists) : undefined;
    for (const list of qualified?.lists ?? []) lists.set(list.name, list);
    return { ...(await read(stored, hash)), stampId, issuedAt, hash, qualification: qualified?.qualification };
  };
  const root = await sealOf(seals.root);
  const closing = await sealOf(seals.closingRecord);
  const pages = (first: number, last: number, length: number) => outputPages(tools.store, workflow._id, chain, { first, last, length });

  return {
    record,
    recordText,
    ...{ root, closing },
    rootPreimage: rootPreimageOf(chain),
    lists: withLists ? [...lists.values()] : undefined,
    certificates: certificates.certificates,
    revocationLists: certificates.revocationLists,
    pathOf: (number) => chain.tree.proveInclusion(number - 1, size).inclusionPath.map((node) => Buffer.from(node).toString('hex')),
    outputs: async function* () {
      for await (const page of pages(1, size, outputsPage)) yield* page;
    },
    stamps: async function* (first, last) {
      for await (const page of pages(first, Math.min(last, size), stampsPage)) {
        const found = new Map((await stamps.findMany(page.map(({ stampId }) => stampId))).map((stamp) => [stamp.tokenId, stamp]));
        for (const line of page) yield { ...line, ...(await read(found.get(line.stampId), line.outputHash)) };
      }
    },
  };
}

/** Outputs in order, as stored, in pages of `length`. @throws ServiceError if one differs from the recomputed chain */
async function* outputPages(
  { outputs }: Store,
  workflowId: string,
  chain: RecomputedChain,
  { first, last, length }: { first: number; last: number; length: number },
): AsyncGenerator<readonly OutputLine[]> {
  for (let next = first; next <= last; next += length) {
    const expected = Math.min(length, last - next + 1);
    const listed = await outputs.list(workflowId, next, expected);
    const lines = listed.map(({ sequenceNumber, hash, chainHash, type, tokenId }, index) => {
      const link = chain.linkAt(next + index);
      const isSame = sequenceNumber === next + index && link?.outputHash === hash && link.chainHash === chainHash;
      if (!isSame || !typePattern.test(type)) throw brokenRecord();
      return { number: sequenceNumber, outputHash: hash, chainHash, type, stampId: tokenId };
    });
    if (lines.length !== expected) throw brokenRecord();
    yield lines;
  }
}

/** The bytes whose hash is the root (RFC 9162 §2.1.1). */
function rootPreimageOf(chain: RecomputedChain): Buffer {
  const { sequenceNumber: size } = chain.end;
  if (size === 0) return Buffer.alloc(0);
  if (size === 1) return Buffer.concat([Buffer.from([0]), octetsOfSha256(chain.linkAt(1)!.outputHash)]);
  const right = chain.tree.proveInclusion(0, size).inclusionPath.at(-1)!;
  return Buffer.concat([Buffer.from([1]), chain.tree.rootAt(splitOf(size)), right], 1 + 2 * hashBytes);
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
function createCertificateCollector({ stampJudge, trust }: WorkflowTools) {
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
    revocationLists: (): readonly string[] => {
      const found = [...anchors.values(), ...others.values()].map(({ der }) => der);
      const { certificates } = createTrustStore({ anchors: found });
      const { crls } = createTrustStore({ anchors: [], crls: revocationLists });
      const ofThese = crls.filter((list) => certificates.some((certificate) => isCrlOf(list, certificate)));
      return [...new Set(ofThese.map(({ der }) => pemOf('X509 CRL', der)))].sort(byText);
    },
  };
}

interface BundledList {
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
async function qualifySeal(
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
