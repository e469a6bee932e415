import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { type EvidenceDocument, qualifiedShown } from '../../shared/contract/evidence-bundle.ts';
import { sha256 } from '../../shared/domain/proofs.ts';
import { qualifiedSentence } from '../../shared/domain/qualification.ts';
import { blockSize, blocksOf, bundleFiles, type SealName, sealFiles } from '../../shared/proof/bundle-files.js';
import { rootOf } from '../../shared/proof/hash-tree.js';
import { hexOf } from '../../shared/proof/octets.js';
import { firstTimeStampOf, firstTokenOf } from '../../shared/rfc3161/index.ts';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import type { BundleContents, BundledCertificate, EvidenceSeal } from './bundle-contents.ts';

/**
 * The evidence of a completed workflow as a zip file (W22). The bytes are the same each time, unless the stamps change. Streams the bundle and reads
 * stamps on demand, so memory does not grow with their number. The stream fails if the stored data changes meanwhile. A reader that stops early must
 * destroy the stream.
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

const engine = createViewEngine('en');

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
        ...tokenMembers(output),
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

const tokenMembers = ({ kind, bytes }: Pick<EvidenceSeal, 'kind' | 'bytes'>) => ({
  kind,
  token: kind === 'none' ? null : bytes.toString('base64'),
});

const sealShown = (seal: EvidenceSeal): EvidenceDocument['root']['stamp'] => ({
  stamp_id: seal.stampId,
  issued_at: seal.issuedAt,
  ...tokenMembers(seal),
  qualified: seal.qualification ? qualifiedShown(seal.qualification) : null,
});

const chunkCharacters = 64 * 1024;

/** Joins pieces of text into fewer, larger buffers. */
async function* inChunks(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
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
