import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { OutputLine } from '../../shared/contract/evidence-bundle.ts';
import { sha256 } from '../../shared/domain/proofs.ts';
import { qualifiedSentence } from '../../shared/domain/qualification.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { sha256Imprint } from '../../shared/domain/stamp.ts';
import { blockSize, blocksOf, bundleFiles, type SealName, sealFiles } from '../../shared/proof/bundle-files.js';
import { readClosingRecord } from '../../shared/proof/closing-record.js';
import { rootOf } from '../../shared/proof/hash-tree.js';
import { hashBytes, splitOf } from '../../shared/proof/merkle-tree.js';
import { hexOf, octetsOfSha256 } from '../../shared/proof/octets.js';
import { firstTimeStampOf, firstTokenOf, isEvidenceRecord } from '../../shared/rfc3161/index.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import { brokenRecord, proveSealedChain, type RecomputedChain, type Seal, type WorkflowTools } from '../workflows/index.ts';
import {
  type BundleContents,
  type BundledCertificate,
  type BundledList,
  createCertificateCollector,
  type EvidenceSeal,
  type EvidenceStamp,
  evidenceDocumentOf,
  inChunks,
  qualifySeal,
} from './bundle-contents.ts';
import { createHeldEvidenceReader, type HeldEvidence } from './stamp-evidence.ts';

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

const engine = createViewEngine();
/** Makes `README.txt`, for people who know neither hashes nor this service. It states only facts that were verified for this bundle (V9). */
function readmeOf({ record, root, closing, lists, certificates }: BundleContents): string {
  return engine.render('/bundle/readme', {
    ...{ record, root, closing, lists, fingerprintShown },
    anchors: certificates().filter(({ role }) => role === 'trust_anchor'),
    others: certificates().filter(({ role }) => role === 'other'),
    treeRoot: treeRootOf(root),
    qualified: lists && qualifiedText(root, closing),
  });
}

/** One sentence for both seals if it is the same. A service that names its lists says who calls the seals qualified. */
function qualifiedText(root: EvidenceSeal, closing: EvidenceSeal): readonly string[] {
  const [ofRoot, ofClosing] = [root, closing].map(({ qualification }) => qualification && qualifiedSentence(qualification));
  if (ofRoot === ofClosing) return ofRoot ? [ofRoot] : [];
  return [...(ofRoot ? [`The Merkle root: ${ofRoot}`] : []), ...(ofClosing ? [`The closing record: ${ofClosing}`] : [])];
}

/** If a seal was stamped in a batch, returns the root of the hash tree (RFC 4998 §4.3) that its token covers, in hex. Otherwise undefined. */
function treeRootOf({ kind, bytes }: EvidenceSeal): string | undefined {
  const tree = kind === 'record' ? firstTimeStampOf(bytes)?.reducedHashtree : undefined;
  return tree && hexOf(rootOf(sha256, tree));
}

interface BundleFile {
  readonly name: string;
  /** Called when the file is written: its content may depend on files that were read before. */
  readonly read: () => AsyncIterable<Buffer> | Iterable<Buffer>;
  readonly mode?: number;
}

/** Every file has the same time, so that the same evidence gives the same bytes. DOS time has no time zone. */
const fixed = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true, compressionLevel: 6 };

const pemText = (certificates: readonly BundledCertificate[]): string =>
  certificates
    .map(({ subject, fingerprint, pem }) => `# ${subject.replace(/\p{C}+/gu, ' ')}\n# SHA-256 ${fingerprintShown(fingerprint)}\n${pem}`)
    .join('');

/** Writes a fingerprint in OpenSSL's notation: upper-case pairs of hex digits with colons. */
const fingerprintShown = (hex: string): string => hex.toUpperCase().match(/../g)!.join(':');

function sealParts(name: SealName, { kind, bytes }: EvidenceSeal): BundleFile[] {
  const files = sealFiles(name);
  const file = (of: string, content: Buffer): BundleFile => ({ name: of, read: () => [content] });
  if (kind === 'none') return [];
  return kind === 'token' ? [file(files.token, bytes)] : [file(files.token, firstTokenOf(bytes)), file(files.record, bytes)];
}

async function* stampLines(evidence: BundleContents, first: number): AsyncGenerator<string> {
  for await (const { number, kind, bytes } of evidence.stamps(first, first + blockSize - 1)) {
    yield kind === 'none' ? `${number} none\n` : `${number} ${kind} ${bytes.toString('base64')}\n`;
  }
}

function* proofLines({ record, pathOf }: BundleContents, first: number): Generator<string> {
  for (let number = first; number < first + blockSize && number <= record.output_count; number += 1) {
    yield `${[number, ...pathOf(number)].join(' ')}\n`;
  }
}

async function* outputLines(evidence: BundleContents): AsyncGenerator<string> {
  for await (const { number, outputHash, chainHash, type, stampId } of evidence.outputs()) {
    yield `${number} ${outputHash} ${chainHash} ${type} ${stampId}\n`;
  }
}

/** The files of a bundle in order, without the list of their hashes, which comes last. */
function filesOf(evidence: BundleContents): readonly BundleFile[] {
  const { record, recordText, root, closing, rootPreimage } = evidence;
  const blocks = blocksOf(record.output_count);
  const text = (name: string, content: () => string): BundleFile => ({ name, read: () => [Buffer.from(content())] });
  const ofRole = (role: BundledCertificate['role']) => pemText(evidence.certificates().filter((each) => each.role === role));
  // Rendered before any stamp is read, so it names only the certificates of the seals.
  const readme = readmeOf(evidence);
  return [
    text(bundleFiles.readme, () => readme),
    // It checks a bundle with `openssl` and Python's standard library.
    { ...text(bundleFiles.script, () => readFileSync(join(viewsFolder, 'bundle/verify.py'), 'utf8')), mode: 0o100755 },
    text(bundleFiles.closingRecord, () => recordText),
    ...sealParts('closing-record', closing),
    { name: bundleFiles.rootPreimage, read: () => [rootPreimage] },
    ...sealParts('root', root),
    { name: bundleFiles.outputs, read: () => inChunks(outputLines(evidence)) },
    ...blocks.map((first) => ({ name: bundleFiles.proofs(first), read: () => inChunks(proofLines(evidence, first)) })),
    ...blocks.map((first) => ({ name: bundleFiles.stamps(first), read: () => inChunks(stampLines(evidence, first)) })),
    text(bundleFiles.trustAnchors, () => ofRole('trust_anchor')),
    text(bundleFiles.otherCertificates, () => ofRole('other')),
    text(bundleFiles.revocationLists, () => evidence.revocationLists().join('')),
  ];
}

/**
 * Streams the bundle and reads stamps on demand, so memory does not grow with their number. The stream fails if the stored data changes meanwhile. A
 * reader that stops early must destroy the stream.
 */
export function zipOf(evidence: BundleContents): Readable {
  const zip = new ZipFile();
  const output = Readable.from(zip.outputStream, { objectMode: false });
  const sums: string[] = [];
  let current: Readable | undefined;
  zip.once('error', (error) => output.destroy(error));
  output.once('close', () => current?.destroy());

  async function* summed({ name, read }: BundleFile): AsyncGenerator<Buffer> {
    const sum = createHash('sha256');
    for await (const chunk of read()) {
      sum.update(chunk);
      yield chunk;
    }
    sums.push(`${sum.digest('hex')}  ${name}\n`);
  }
  function add(name: string, mode: number, open: () => AsyncIterable<Buffer> | Iterable<Buffer>): void {
    zip.addReadStreamLazy(name, { ...fixed, mode }, (give) => {
      if (output.destroyed) return;
      current = Readable.from(open(), { objectMode: false });
      current.once('error', (error) => output.destroy(error));
      give(null, current);
    });
  }

  // SHA256SUMS does not name the lists: the signature of its country protects each of them.
  const lists = evidence.lists ?? [];
  for (const file of filesOf(evidence)) add(file.name, file.mode ?? 0o100644, () => summed(file));
  add(bundleFiles.sums, 0o100644, () => [Buffer.from(sums.join(''))]);
  for (const { name, xml } of lists) add(name, 0o100644, () => [xml]);
  zip.end();
  return output;
}
