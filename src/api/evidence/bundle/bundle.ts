import type { Readable } from 'node:stream';
import type { OutputLine } from '../../../shared/contract/evidence-bundle.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { sha256Imprint } from '../../../shared/domain/stamp.ts';
import { readClosingRecord } from '../../../shared/proof/closing-record.js';
import { hashBytes, splitOf } from '../../../shared/proof/merkle-tree.js';
import { octetsOfSha256 } from '../../../shared/proof/octets.js';
import { isEvidenceRecord } from '../../../shared/rfc3161/index.ts';
import type { StoredStamp } from '../../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../../shared/store/workflows.ts';
import { brokenRecord, proveSealedChain, type RecomputedChain, type Seal, type WorkflowTools } from '../../workflows/index.ts';
import { createHeldEvidenceReader, type HeldEvidence } from '../held-evidence.ts';
import { createCertificateCollector } from './certificates.ts';
import type { BundleContents, EvidenceSeal, EvidenceStamp } from './contents.ts';
import { evidenceDocumentOf } from './document.ts';
import { type BundledList, qualifySeal } from './lists.ts';
import { zipOf } from './zip.ts';

/** The number of outputs, and the number of stamps, that are read at a time. A stamp takes up to 15 kB. */
const outputsPage = 1_000;
const stampsPage = 100;

const evidenceStampOf = (held: HeldEvidence | undefined): EvidenceStamp =>
  held === undefined
    ? { kind: 'none', bytes: Buffer.alloc(0) }
    : { kind: isEvidenceRecord(held.bytes) ? 'record' : 'token', bytes: held.bytes };

/** The bytes whose hash is the root (RFC 9162 §2.1.1). */
function rootPreimageOf(chain: RecomputedChain): Buffer {
  const { sequenceNumber: size } = chain.end;
  if (size === 0) return Buffer.alloc(0);
  if (size === 1) return Buffer.concat([Buffer.from([0]), octetsOfSha256(chain.linkAt(1)!.outputHash)]);
  const right = chain.tree.proveInclusion(0, size).inclusionPath.at(-1)!;
  return Buffer.concat([Buffer.from([1]), chain.tree.rootAt(splitOf(size)), right], 1 + 2 * hashBytes);
}

/** `withLists`: with the trusted lists that say that the seals are qualified. */
interface BundleChoice {
  readonly withLists?: boolean;
}

const typePattern = /^[a-z0-9._+-]{1,64}$/;

/**
 * The evidence of a completed workflow as a zip file (W22). The bytes are the same each time, unless the stamps change.
 *
 * @throws ServiceError `not_found`, and everything that `proveSealedChain` throws; the stream fails if the stored data changes meanwhile
 */
export const zipBundle = async (tools: WorkflowTools, workflow: WorkflowRecord, choice: BundleChoice): Promise<Readable> =>
  zipOf(await gather(tools, workflow, choice));

/** The evidence as one JSON document. @throws the same errors as `zipBundle` */
export const documentBundle = async (tools: WorkflowTools, workflow: WorkflowRecord, choice: BundleChoice): Promise<Readable> =>
  evidenceDocumentOf(await gather(tools, workflow, choice));

/**
 * Collects the contents of the evidence. The root, the chain, the tree and the closing record are recomputed and verified for each answer. The outputs'
 * own stamps are given as stored: the reader of the evidence must verify them.
 */
async function gather(tools: WorkflowTools, workflow: WorkflowRecord, { withLists = false }: BundleChoice): Promise<BundleContents> {
  const { outputs, stamps } = tools.store;
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
  const read = async (stored: StoredStamp | null | undefined, hash: string): Promise<EvidenceStamp> => {
    const held = stored ? await readHeld(stored) : undefined;
    if (stored && held) await certificates.add({ ...held, provider: stored.proofs[0].provider, imprint: sha256Imprint(hash) });
    return evidenceStampOf(held);
  };
  const lists = new Map<string, BundledList>();
  const sealOf = async ({ hash, stamp: { tokenId, stampedAt }, stored }: Seal): Promise<EvidenceSeal> => {
    const qualified = stored ? await qualifySeal(tools, stored, withLists) : undefined;
    for (const list of qualified?.lists ?? []) lists.set(list.name, list);
    const evidence = await read(stored, hash);
    return { ...evidence, stampId: tokenId, issuedAt: stampedAt, hash, qualification: qualified?.qualification };
  };
  const root = await sealOf(seals.root);
  const closing = await sealOf(seals.closingRecord);

  async function* pages(first: number, last: number, length: number): AsyncGenerator<OutputLine[]> {
    for (let next = first; next <= last; next += length) {
      const expected = Math.min(length, last - next + 1);
      const listed = await outputs.list(workflow._id, next, expected);
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

  return {
    record,
    recordText,
    root,
    closing,
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
        for (const line of page) {
          yield { ...line, ...(await read(found.get(line.stampId), line.outputHash)) };
        }
      }
    },
  };
}
