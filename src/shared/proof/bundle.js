// @ts-check
// Reads an evidence bundle (W22). Checks that it has exactly the expected files, and that they match SHA256SUMS. judge-bundle.js judges the contents.
import { blocksOf, bundleFiles, filesAmong, isListFile, listedFiles, sealFiles, sealNames } from './bundle-files.js';
import { readClosingRecord } from './closing-record.js';
import { concatOctets, hexOf, signedTextOf } from './octets.js';
import { openZip } from './zip.js';
import { ZipFault } from './zip-source.js';

/**
 * Functions that differ between browsers and Node.js.
 *
 * @typedef {object} BundleTools
 * @property {import('./zip.js').Inflate} inflate
 * @property {import('./octets.js').HashFunction} sha256
 * @property {() => { update(octets: Uint8Array): unknown, digest(): Uint8Array }} createSha256 starts a SHA-256 over octets that come in parts
 */

/**
 * An evidence bundle with exactly the expected files. Its contents are not verified yet.
 *
 * @typedef {object} OpenedBundle
 * @property {import('./closing-record.js').ClosingRecord} record
 * @property {Uint8Array} recordOctets the closing record exactly as stamped
 * @property {import('./bundle-files.js').Seals} seals
 * @property {(name: string) => Promise<Uint8Array>} bytesOf reads a small file; fails with a BundleFault if it does not match SHA256SUMS
 * @property {(name: string) => AsyncGenerator<string>} linesOf reads the lines of a file, and at its end compares the file with SHA256SUMS
 * @property {(name: string) => number} sizeOf returns the unpacked size of a file in octets, according to the zip file
 * @property {(name: string) => Promise<void>} check reads a file only to compare it with SHA256SUMS
 * @property {readonly string[]} lists the names of the trusted lists
 * @property {readonly string[]} ignored the names of entries that other programs added; they are not read
 * @property {(name: string) => Promise<Uint8Array>} bytesOfList reads a trusted list; only its own signature protects it
 * @property {BundleTools} tools
 */

/** Why a bundle is refused. @typedef {'bundle_malformed' | 'bundle_changed' | 'chain_mismatch' | 'root_mismatch' | 'time_mismatch'} BundleCode */

/** The fault of a bundle. The message is one sentence. */
export class BundleFault extends Error {
  /** @override */
  name = 'BundleFault';

  /** @param {BundleCode} code @param {string} sentence */
  constructor(code, sentence) {
    super(sentence);
    this.code = code;
  }
}

/** @param {string} sentence */
export const malformed = (sentence) => new BundleFault('bundle_malformed', sentence);

/** Maximum number of entries. A bundle has at most half of it, but the program that packed it again may add as many. */
export const mostEntries = 8_192;
/** Maximum size of a file that is read as a whole, in octets. */
export const mostSmallBytes = 8 * 1024 * 1024;
/** Maximum number and size of the trusted lists. A bundle rests on few of them. */
const mostLists = 64;
const mostListBytes = 16 * 1024 * 1024;
/** Maximum length of a line in a stamps file: a token or record of 1 MiB is about 1.4 MiB in base64. */
const mostLineBytes = 2 * 1024 * 1024;

/** Decodes ASCII. Other octets become characters that no valid line has. @param {Uint8Array} octets */
const asciiOf = (octets) => new TextDecoder('latin1').decode(octets);

/** Resolves to true if a zip file has a closing record, so that it may be a bundle. @param {import('./zip-source.js').ZipSource} source @param {import('./zip.js').Inflate} inflate @throws {ZipFault} */
export const hasClosingRecord = async (source, inflate) =>
  filesAmong((await openZip(source, { inflate, mostEntries })).entries).files.has(bundleFiles.closingRecord);

/**
 * Opens an evidence bundle. Memory use does not grow with its outputs.
 *
 * @param {import('./zip-source.js').ZipSource} source
 * @param {BundleTools} tools
 * @returns {Promise<OpenedBundle>}
 * @throws {ZipFault} if it is not a bundle
 * @throws {BundleFault} if it is a bundle with a fault
 */
export async function openBundle(source, tools) {
  const { entries, read } = await openZip(source, { inflate: tools.inflate, mostEntries });
  return openUnpacked(new Map([...entries].map(([name, entry]) => [name, { size: entry.size, read: () => read(entry) }])), tools);
}

/**
 * A file of a bundle. `read` returns at most `size` octets. @typedef {{ readonly size: number, readonly read: () => AsyncIterable<Uint8Array> }}
 * BundleFile
 */

/**
 * Opens the evidence bundle in these files, by their paths. A folder has a path that ends with a slash, and no size.
 *
 * @param {ReadonlyMap<string, BundleFile>} unpacked
 * @param {BundleTools} tools
 * @returns {Promise<OpenedBundle>}
 * @throws {ZipFault | BundleFault} like `openBundle`
 */
export async function openUnpacked(unpacked, tools) {
  const { files: entries, ignored } = filesAmong(unpacked);
  /** @param {string} name */
  function entryOf(name) {
    const entry = entries.get(name);
    if (!entry) throw new ZipFault(`it has no ${name}`);
    return entry;
  }
  /** @param {string} name @param {number} mostBytes */
  async function readSmall(name, mostBytes) {
    const { size, read } = entryOf(name);
    if (size > mostBytes) throw new ZipFault(`${name} is too large`);
    return wholeOf(read());
  }

  const recordOctets = await readSmall(bundleFiles.closingRecord, mostSmallBytes);
  const record = readClosingRecord(signedTextOf(recordOctets));
  if (!record) throw malformed('closing-record.json is no closing record in canonical form.');
  const filesOf = (/** @type {import('./bundle-files.js').SealName} */ name) => ({
    hasToken: entries.has(sealFiles(name).token),
    hasRecord: entries.has(sealFiles(name).record),
  });
  const seals = { 'closing-record': filesOf('closing-record'), root: filesOf('root') };
  if (sealNames.some((name) => seals[name].hasRecord && !seals[name].hasToken)) throw malformed('A time-stamp token is missing.');
  // Check the output count before listing the files: it is not verified yet, and may be of any size.
  if (blocksOf(Math.min(record.output_count, 1e9)).length * 2 > entries.size) throw malformed('Files of proofs or stamps are missing.');
  const expected = listedFiles(record.output_count, seals);
  const missing = expected.find((name) => !entries.has(name));
  if (missing !== undefined) throw malformed(`${missing} is missing.`);
  const lists = [...entries.keys()].filter(isListFile);
  if (lists.length > mostLists) throw malformed(`It has more than ${mostLists} trusted lists.`);
  const known = new Set([...expected, ...lists, bundleFiles.sums]);
  const unknown = [...entries.keys()].find((name) => !known.has(name));
  if (unknown !== undefined) throw malformed(`${unknown} does not belong to a bundle.`);
  const sums = readSums(asciiOf(await readSmall(bundleFiles.sums, mostSmallBytes)), expected);

  /** @param {string} name */
  async function* readListed(name) {
    const hash = tools.createSha256();
    for await (const piece of entryOf(name).read()) {
      hash.update(piece);
      yield piece;
    }
    if (hexOf(hash.digest()) !== sums.get(name)) throw new BundleFault('bundle_changed', `${name} is not the file that SHA256SUMS lists.`);
  }

  return {
    record,
    recordOctets,
    seals,
    lists,
    ignored,
    bytesOfList: (name) => readSmall(name, mostListBytes),
    tools,
    bytesOf: async (name) => {
      if (entryOf(name).size > mostSmallBytes) throw new ZipFault(`${name} is too large`);
      return wholeOf(readListed(name));
    },
    linesOf: (name) => splitLines(name, readListed(name)),
    sizeOf: (name) => entryOf(name).size,
    check: async (name) => {
      for await (const _ of readListed(name));
    },
  };
}

/** @param {AsyncIterable<Uint8Array>} pieces */
async function wholeOf(pieces) {
  const read = [];
  for await (const piece of pieces) read.push(piece);
  return concatOctets(read);
}

/** Reads the hash of each file from the text of SHA256SUMS. @param {string} text @param {readonly string[]} expected @returns {ReadonlyMap<string, string>} */
function readSums(text, expected) {
  const lines = text.split('\n');
  const sums = new Map();
  for (const [index, name] of expected.entries()) {
    const [, sum, listed] = /^([0-9a-f]{64}) [ *](.+)$/.exec(lines[index] ?? '') ?? [];
    if (sum === undefined || listed !== name) throw malformed(`SHA256SUMS should list ${name} but lists ${listed ?? 'nothing'}.`);
    sums.set(name, sum);
  }
  const [beyond, ...more] = lines.slice(expected.length);
  if (beyond === undefined) throw malformed('SHA256SUMS does not end with a line.');
  if (beyond !== '' || more.length > 0) throw malformed(`SHA256SUMS lists a file that does not belong to a bundle: ${beyond}.`);
  return sums;
}

/** @param {string} name @param {AsyncIterable<Uint8Array>} pieces */
async function* splitLines(name, pieces) {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + asciiOf(piece)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > mostLineBytes) throw malformed(`${name} has a line that is too long.`);
    yield* lines;
  }
  if (rest !== '') throw malformed(`${name} does not end with a line.`);
}
