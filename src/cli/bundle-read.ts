import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { type ClosingRecord, readClosingRecord } from '../shared/contract/closing-record.ts';
import { blocksOf, bundleFiles, type SealName, sealFiles, sealNames } from '../shared/contract/evidence-bundle.ts';
import { asZipFault, type OpenedZip, openZip, type ZipKind } from './zip-read.ts';

/** Why a bundle does not hold, or is none. */
export type BundleCode = 'bundle_malformed' | 'bundle_changed' | 'chain_mismatch' | 'root_mismatch' | 'time_mismatch';

/** What is wrong with a bundle, in one sentence. */
export class BundleFault extends Error {
  override readonly name = 'BundleFault';
  readonly code: BundleCode;

  constructor(code: BundleCode, sentence: string) {
    super(sentence);
    this.code = code;
  }
}

const malformed = (sentence: string): BundleFault => new BundleFault('bundle_malformed', sentence);

/** An evidence bundle whose files are all there and no others. Nothing in it was judged. */
export interface OpenedBundle {
  readonly record: ClosingRecord;
  readonly recordText: string;
  /** Which files its seals have. */
  readonly seals: Readonly<Record<SealName, { readonly hasToken: boolean; readonly hasRecord: boolean }>>;
  /** The octets of a small file. @throws BundleFault where it is not the one that is listed */
  bytesOf(name: string): Promise<Buffer>;
  /** The lines of a file as they are unpacked; at its end it is compared with the list. @throws BundleFault */
  linesOf(name: string): AsyncGenerator<string>;
  /** What a file unpacks to, in octets, as the zip file says. */
  sizeOf(name: string): number;
  /** Reads a file for its hash alone. @throws BundleFault */
  check(name: string): Promise<void>;
  close(): void;
}

const kind: ZipKind = { name: 'evidence bundle, and no stamp is beside it', mostEntries: 4_096, checkHead: () => undefined };

export const isBundlePath = (path: string): boolean => /\.zip$/i.test(path);

/** Trouble in reading a bundle, in one sentence; a fault of what is in it stays what it is. */
export const asBundleFault = (error: unknown): unknown => (error instanceof BundleFault ? error : asZipFault(kind, error));

/** No file that is read as a whole is larger. */
export const mostSmallBytes = 8 * 1024 * 1024;
/** A line of stamps holds a token or a record, of 1 MiB at most, in base64. */
const mostLineBytes = 2 * 1024 * 1024;

function expectedNames({ output_count }: ClosingRecord, seals: OpenedBundle['seals']): readonly string[] {
  const blocks = blocksOf(output_count);
  const filesOf = (name: SealName) => [
    ...(seals[name].hasToken ? [sealFiles(name).token] : []),
    ...(seals[name].hasRecord ? [sealFiles(name).record] : []),
  ];
  return [
    bundleFiles.readme,
    bundleFiles.script,
    bundleFiles.opensslSettings,
    bundleFiles.closingRecord,
    ...filesOf('closing-record'),
    bundleFiles.rootPreimage,
    ...filesOf('root'),
    bundleFiles.outputs,
    ...blocks.map(bundleFiles.proofs),
    ...blocks.map(bundleFiles.stamps),
    bundleFiles.trustAnchors,
    bundleFiles.otherCertificates,
    bundleFiles.revocationLists,
  ];
}

/** What the list says of each file. */
function readSums(text: string, expected: readonly string[]): ReadonlyMap<string, string> {
  const lines = text.split('\n');
  const sums = new Map<string, string>();
  for (const [index, name] of expected.entries()) {
    const [, sum, listed] = /^([0-9a-f]{64}) [ *](.+)$/.exec(lines[index] ?? '') ?? [];
    if (sum === undefined || listed !== name) throw malformed(`SHA256SUMS should list ${name} where it lists ${listed ?? 'nothing'}.`);
    sums.set(name, sum);
  }
  const beyond = lines[expected.length];
  if (beyond !== '' || lines.length !== expected.length + 1) throw malformed(`SHA256SUMS lists what belongs to no bundle: ${beyond}.`);
  return sums;
}

async function* splitLines(name: string, stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > mostLineBytes) throw malformed(`${name} has a line that is too long.`);
    yield* lines;
  }
  if (rest !== '') throw malformed(`${name} does not end with a line.`);
}

async function readBundle(zip: OpenedZip): Promise<OpenedBundle> {
  const { entries, openEntry, readSmall, refuse } = zip;
  const small = async (name: string): Promise<Buffer> => {
    const entry = entries.get(name);
    if (!entry) throw refuse(`it has no ${name}`);
    return readSmall(entry, mostSmallBytes);
  };
  const recordText = (await small(bundleFiles.closingRecord)).toString('utf8');
  const record = readClosingRecord(recordText);
  if (!record) throw malformed('closing-record.json is no closing record in canonical form.');
  const filesOf = (name: SealName) => ({ hasToken: entries.has(sealFiles(name).token), hasRecord: entries.has(sealFiles(name).record) });
  const seals = { 'closing-record': filesOf('closing-record'), root: filesOf('root') };
  if (sealNames.some((name) => seals[name].hasRecord && !seals[name].hasToken)) throw malformed('A time-stamp token is missing.');
  // Before the list of them is made: a number that nobody stamped may be any.
  if (blocksOf(Math.min(record.output_count, 1e9)).length * 2 > entries.size) throw malformed('Files of proofs or stamps are missing.');
  const expected = expectedNames(record, seals);
  const missing = expected.find((name) => !entries.has(name));
  if (missing !== undefined) throw malformed(`${missing} is missing.`);
  const known = new Set([...expected, bundleFiles.sums]);
  const unknown = [...entries.keys()].find((name) => !known.has(name));
  if (unknown !== undefined) throw malformed(`${unknown} belongs to no bundle.`);
  const sums = readSums((await small(bundleFiles.sums)).toString('latin1'), expected);

  async function* read(name: string): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    const stream: Readable = await openEntry(entries.get(name)!);
    for await (const chunk of stream) {
      hash.update(chunk);
      yield chunk;
    }
    if (hash.digest('hex') !== sums.get(name)) throw new BundleFault('bundle_changed', `${name} is not the file that SHA256SUMS lists.`);
  }

  return {
    record,
    recordText,
    seals,
    bytesOf: async (name) => {
      if (entries.get(name)!.uncompressedSize > mostSmallBytes) throw refuse(`${name} is too large`);
      const parts: Buffer[] = [];
      for await (const part of read(name)) parts.push(part);
      return Buffer.concat(parts);
    },
    sizeOf: (name) => entries.get(name)!.uncompressedSize,
    linesOf: (name) => splitLines(name, read(name)),
    check: async (name) => {
      for await (const _ of read(name));
    },
    close: zip.close,
  };
}

/**
 * Opens an evidence bundle (W22). Memory does not grow with its outputs.
 *
 * @throws CommandFailure that says in one sentence why it is none; BundleFault where it is none that holds
 */
export async function openBundle(path: string): Promise<OpenedBundle> {
  let zip: OpenedZip | undefined;
  try {
    zip = await openZip(path, kind);
    return await readBundle(zip);
  } catch (error) {
    zip?.close();
    throw asBundleFault(error);
  }
}

/** Whether a zip file may be a bundle: it has a closing record, or cannot be read, which opening it will tell. */
export async function hasClosingRecord(path: string): Promise<boolean> {
  try {
    const zip = await openZip(path, kind);
    zip.close();
    return zip.entries.has(bundleFiles.closingRecord);
  } catch {
    return true;
  }
}
