import { createHash } from 'node:crypto';
import { type ClosingRecord, hashOfClosingText } from '../shared/contract/closing-record.ts';
import { blockSize, bundleFiles, opensslSettingsText, type SealName, sealFiles } from '../shared/contract/evidence-bundle.ts';
import { checkLink, createTreeHeadBuilder, verifyInclusion } from '../shared/domain/proofs.ts';
import type { ReasonCode } from '../shared/domain/reasons.ts';
import { type Imprint, imprintAlgorithms, isSameImprint, sha256Imprint } from '../shared/domain/stamp.ts';
import type { TreeHead } from '../shared/proof/merkle-tree.js';
import { hexOf, isSha256Hex, octetsOfSha256 } from '../shared/proof/octets.js';
import { type ChainEnd, chainStart } from '../shared/proof/output-chain.js';
import { firstTokenOf, type TrustStore, type Verified } from '../shared/rfc3161/index.ts';
import { BundleFault, type OpenedBundle } from './bundle-read.ts';
import { imprintOf, type Judgement, judgeToken } from './judge-token.ts';

/** A file that is looked for: where it stands in the bundle, and its own time-stamp. */
export interface FoundOutput {
  readonly sequenceNumber: number;
  /** Undefined where nobody whom the reader trusts vouches for that time-stamp. */
  readonly stamp: Verified | undefined;
}

export interface BundleJudgement {
  readonly record: ClosingRecord;
  /** Of the root; undefined where the bundle has no time-stamp of it. */
  readonly root: Judgement | undefined;
  readonly closing: Judgement | undefined;
  /** How many outputs' own time-stamps were proved, were not, or are not in the bundle. */
  readonly own: { readonly valid: number; readonly notProved: number; readonly none: number };
  /** By the SHA-256 of a file, lower-case hex. */
  readonly found: ReadonlyMap<string, readonly FoundOutput[]>;
}

/** A token of a bundle is refused. `what`: which one, for people. */
export class StampRefused extends Error {
  override readonly name = 'StampRefused';
  readonly code: ReasonCode;
  readonly what: string;

  constructor(code: ReasonCode, what: string) {
    super(`${what}: ${code}`);
    this.code = code;
    this.what = what;
  }
}

export interface BundleContext {
  readonly trust: TrustStore;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** SHA-256 of the files that are looked for, lower-case hex. */
  readonly wanted: ReadonlySet<string>;
  /** Called after each output. */
  readonly onOutput: (sequenceNumber: number) => void;
}

/** What a stamp must be for. */
interface Stamped {
  /** Lower-case hex. */
  readonly sha256: string;
  /** Where it is in the bundle: a record that was renewed by another hash algorithm is judged with its hash of that. */
  readonly content?: Uint8Array | string;
}

const imprintsOf = ({ sha256, content }: Stamped): readonly Imprint[] => {
  const others = content === undefined ? [] : imprintAlgorithms.filter((algorithm) => algorithm !== 'sha256');
  return [
    sha256Imprint(sha256),
    ...others.map((algorithm) => ({ algorithm, digest: createHash(algorithm).update(content!).digest('hex') })),
  ];
};

/** The judgement of a token or record that must be for this. @throws StampRefused */
async function judgeStamp(bytes: Buffer, stamped: Stamped, what: string, { trust, nowMs }: BundleContext): Promise<Judgement> {
  const expected = sha256Imprint(stamped.sha256);
  const judged = await judgeToken(bytes, trust, nowMs, imprintsOf(stamped));
  if (judged.verdict === 'not_valid') throw new StampRefused(judged.reason ?? 'unknown_format', what);
  if (judged.stated && !isSameImprint(imprintOf(judged.stated), expected)) throw new StampRefused('imprint_mismatch', what);
  return judged;
}

async function judgeSeal(bundle: OpenedBundle, name: SealName, stamped: Stamped, context: BundleContext): Promise<Judgement | undefined> {
  const { hasToken, hasRecord } = bundle.seals[name];
  const files = sealFiles(name);
  const what = name === 'root' ? 'the time-stamp of the Merkle root' : 'the time-stamp of the closing record';
  if (!hasToken) return undefined;
  const token = await bundle.bytesOf(files.token);
  if (!hasRecord) return judgeStamp(token, stamped, what, context);
  const record = await bundle.bytesOf(files.record);
  const judged = await judgeStamp(record, stamped, what, context);
  if (!firstTokenOf(record).equals(token)) throw new BundleFault('bundle_malformed', `${files.token} is not the token in ${files.record}.`);
  return judged;
}

const breaks = (sentence: string): BundleFault => new BundleFault('chain_mismatch', sentence);
const form = (sentence: string): BundleFault => new BundleFault('bundle_malformed', sentence);

async function nextOf(lines: AsyncGenerator<string>): Promise<string | undefined> {
  const { done, value } = await lines.next();
  return done ? undefined : value;
}

function checkProof(line: string | undefined, number: number, outputHash: string, head: TreeHead): void {
  const [listed, ...path] = (line ?? '').split(' ');
  if (listed !== String(number)) throw form(`The inclusion proof of output ${number} is missing.`);
  const isPath = path.every(isSha256Hex);
  const proof = { treeSize: head.treeSize, leafIndex: number - 1, inclusionPath: isPath ? path.map(octetsOfSha256) : [] };
  if (!isPath || !verifyInclusion(octetsOfSha256(outputHash), proof, head).ok)
    throw new StampRefused('inclusion_proof_invalid', `output ${number}`);
}

/**
 * Judges a bundle by what is in it and the reader's own trust: the seals, then in one pass each output with its link, its proof and its own
 * time-stamp, then chain and root.
 *
 * @throws BundleFault, StampRefused; CommandFailure and Error as the reader of the zip file does
 */
export async function judgeBundle(bundle: OpenedBundle, context: BundleContext): Promise<BundleJudgement> {
  const { record, recordText } = bundle;
  for (const name of [bundleFiles.readme, bundleFiles.script, bundleFiles.closingRecord]) await bundle.check(name);
  if ((await bundle.bytesOf(bundleFiles.opensslSettings)).toString('latin1') !== opensslSettingsText)
    throw form('openssl.cnf is not the one that belongs to a bundle.');
  const closing = await judgeSeal(bundle, 'closing-record', { sha256: hashOfClosingText(recordText), content: recordText }, context);
  const preimage = await bundle.bytesOf(bundleFiles.rootPreimage);
  const root = await judgeSeal(bundle, 'root', { sha256: record.merkle_root, content: preimage }, context);
  checkTimes(record, root?.stated, closing?.stated);
  if (createHash('sha256').update(preimage).digest('hex') !== record.merkle_root)
    throw new BundleFault('root_mismatch', 'The SHA-256 of root.bin is not the Merkle root.');
  const { own, found } = await judgeOutputs(bundle, context);
  for (const name of [bundleFiles.trustAnchors, bundleFiles.otherCertificates, bundleFiles.revocationLists]) await bundle.check(name);
  return { record, root, closing, own, found };
}

function checkTimes({ completed_at }: ClosingRecord, root: Verified | undefined, closing: Verified | undefined): void {
  if (root && root.genTime.getTime() !== Date.parse(completed_at))
    throw new BundleFault('time_mismatch', 'The Merkle root was stamped at another time than the closing record says.');
  if (root && closing && Math.floor(closing.genTime.getTime() / 1000) < Math.floor(root.genTime.getTime() / 1000))
    throw new BundleFault('time_mismatch', 'The closing record was stamped before the Merkle root.');
}

async function judgeOutputs(bundle: OpenedBundle, context: BundleContext): Promise<Pick<BundleJudgement, 'own' | 'found'>> {
  const { record } = bundle;
  const head = { treeSize: record.output_count, rootHash: octetsOfSha256(record.merkle_root) };
  const tree = createTreeHeadBuilder();
  const own = { valid: 0, notProved: 0, none: 0 };
  const found = new Map<string, FoundOutput[]>();
  let end: ChainEnd = chainStart(record.briefing_hash);
  const outputs = bundle.linesOf(bundleFiles.outputs);
  let proofs: AsyncGenerator<string> | undefined;
  let stamps: AsyncGenerator<string> | undefined;
  for (let number = 1; number <= record.output_count; number += 1) {
    if (number % blockSize === 1) {
      proofs = bundle.linesOf(bundleFiles.proofs(number));
      stamps = bundle.linesOf(bundleFiles.stamps(number));
    }
    const line = await nextOf(outputs);
    if (line === undefined) throw breaks(`The closing record is of ${record.output_count} outputs, and outputs.txt has ${number - 1}.`);
    const [listed, outputHash = '', chainHash = ''] = line.split(' ');
    const link = { sequenceNumber: number, outputHash, chainHash };
    if (listed !== String(number) || line.split(' ').length !== 5 || checkLink(end, link))
      throw breaks(`The chain breaks at output ${number}.`);
    end = { sequenceNumber: number, chainHash };
    tree.append(octetsOfSha256(outputHash));
    checkProof(await nextOf(proofs!), number, outputHash, head);
    const stamp = await judgeOwn(await nextOf(stamps!), number, outputHash);
    if (context.wanted.has(outputHash)) found.set(outputHash, [...(found.get(outputHash) ?? []), { sequenceNumber: number, stamp }]);
    if (number % blockSize === 0 || number === record.output_count) {
      if ((await nextOf(proofs!)) !== undefined || (await nextOf(stamps!)) !== undefined)
        throw form(`There are more proofs or stamps than outputs up to ${number}.`);
    }
    context.onOutput(number);
  }
  if ((await nextOf(outputs)) !== undefined)
    throw breaks(`The closing record is of ${record.output_count} outputs, and outputs.txt has more.`);
  if (end.chainHash !== record.chain_hash) throw breaks('The chain ends with another hash than the closing record says.');
  if (hexOf(tree.head().rootHash) !== record.merkle_root)
    throw new BundleFault('root_mismatch', 'The Merkle root of the outputs is another one than the closing record says.');
  return { own, found };

  /** Undefined of a record that nobody renewed: nothing is wrong with it, and the root covers the output all the same. */
  async function judgeOwnStamp(token: Buffer, number: number, outputHash: string): Promise<Judgement | undefined> {
    try {
      return await judgeStamp(token, { sha256: outputHash }, `the own time-stamp of output ${number}`, context);
    } catch (error) {
      if (error instanceof StampRefused && error.code === 'evidence_expired') return undefined;
      throw error;
    }
  }

  /** The output's own time-stamp; undefined where nobody vouches for it. */
  async function judgeOwn(line: string | undefined, number: number, outputHash: string): Promise<Verified | undefined> {
    const [listed, kind, token = ''] = (line ?? '').split(' ');
    if (listed !== String(number)) throw form(`The stamp of output ${number} is missing.`);
    if (kind === 'none') {
      own.none += 1;
      return undefined;
    }
    if (kind !== 'token' && kind !== 'record') throw form(`The stamp of output ${number} is of an unknown kind.`);
    const judged = await judgeOwnStamp(Buffer.from(token, 'base64'), number, outputHash);
    if (judged?.verdict === 'valid' && judged.stated) {
      own.valid += 1;
      return judged.stated;
    }
    own.notProved += 1;
    return undefined;
  }
}
