// @ts-check
// Reads the directory of a zip file (APPNOTE.TXT 6.3 §4.3.12 to §4.3.16). It lists the entries, and refuses unsafe entries before any entry is read.
import { octetsOf, viewOf, ZipFault } from './zip-source.js';

/** @typedef {import('./zip-source.js').ZipSource} ZipSource */

/**
 * An entry of a zip file, according to the directory.
 *
 * @typedef {object} ZipEntry
 * @property {string} name
 * @property {Uint8Array} rawName the octets of the name
 * @property {number} method the compression method
 * @property {number} packedSize the size in the zip file, in octets
 * @property {number} size the unpacked size in octets, as the directory claims
 * @property {number} at the position of the entry's local header
 */

const endLength = 22;
const mostCommentBytes = 0xffff;
const locatorLength = 20;
const largeEndLength = 56;
const headerLength = 46;
export const localLength = 30;
/** In a field of 32 bits, this value means that the number is in an extra field (§4.5.3). */
const most32 = 0xffffffff;
/** Maximum size of the directory. The format allows much more: 64 KiB for each name, extra field and comment. */
const mostDirectoryBytes = 4 * 1024 * 1024;
/** An entry is refused as an attack if it unpacks to more than this, and to more than `suspiciousRatio` times its packed size. */
const suspiciousBytes = 64 * 1024 * 1024;
const suspiciousRatio = 200;
export const stored = 0;
const deflated = 8;
export const damaged = 'its directory is damaged';

/** Reads and checks all entries, in the order of the directory (§4.3.12). @param {ZipSource} source @param {number} mostEntries */
export async function readDirectory(source, mostEntries) {
  const { count, length, start, at: end } = await readEnd(source);
  if (count > mostEntries) throw new ZipFault(`it has more than ${mostEntries} entries`);
  if (length > mostDirectoryBytes) throw new ZipFault('its list of entries is too long');
  if (start + length !== end) throw new ZipFault(damaged);
  const directory = await viewOf(source, start, length);
  /** @type {Map<string, ZipEntry>} */
  const entries = new Map();
  const names = new Set();
  let at = 0;
  for (let read = 0; read < count; read += 1) {
    if (at + headerLength > length || directory.getUint32(at, true) !== 0x02014b50) throw new ZipFault(damaged);
    const extraAt = at + headerLength + directory.getUint16(at + 28, true);
    const commentAt = extraAt + directory.getUint16(at + 30, true);
    const next = commentAt + directory.getUint16(at + 32, true);
    if (next > length) throw new ZipFault(damaged);
    const entry = entryOf(directory, at, extraAt, commentAt);
    checkEntry(entry, directory.getUint16(at + 8, true), source.size);
    if (names.size === names.add(entry.name.toLowerCase()).size) throw new ZipFault(`${entry.name} is in it more than once`);
    entries.set(entry.name, entry);
    at = next;
  }
  if (at !== length) throw new ZipFault(damaged);
  checkApart([...entries.values()], start);
  return entries;
}

/** @param {DataView} view @param {number} at */
const uint64 = (view, at) => Number(view.getBigUint64(at, true));

/** Reads the end-of-directory record (§4.3.16). It is the last record of the file; only a comment may follow it. @param {ZipSource} source */
async function readEnd(source) {
  const tailStart = Math.max(0, source.size - endLength - mostCommentBytes);
  const tail = await viewOf(source, tailStart, source.size - tailStart);
  let at = tail.byteLength - endLength;
  while (at >= 0 && tail.getUint32(at, true) !== 0x06054b50) at -= 1;
  if (at < 0) throw new ZipFault('it is cut off');
  if (tail.getUint16(at + 20, true) !== tail.byteLength - at - endLength) throw new ZipFault('something follows its end');
  const [disk, directoryDisk, countHere, count] = [4, 6, 8, 10].map((offset) => tail.getUint16(at + offset, true));
  const end = { count: count ?? 0, length: tail.getUint32(at + 12, true), start: tail.getUint32(at + 16, true), at: tailStart + at };
  const large = await readLargeEnd(source, end.at);
  if (disk !== 0 || directoryDisk !== 0 || countHere !== count) throw new ZipFault('it is only a part of a zip file');
  if (!large) return end;
  /** Checks that both records say the same, because two readers must not see two different directories. @param {number} said @param {number} most @param {number} number */
  const fits = (said, most, number) => said === most || said === number;
  if (!fits(end.count, 0xffff, large.count) || !fits(end.length, most32, large.length) || !fits(end.start, most32, large.start))
    throw new ZipFault(damaged);
  return large;
}

/** Reads the end-of-directory record of the format for more than 4 GB, if there is one (§4.3.14, §4.3.15). @param {ZipSource} source @param {number} endAt */
async function readLargeEnd(source, endAt) {
  if (endAt < locatorLength) return undefined;
  const locator = await viewOf(source, endAt - locatorLength, locatorLength);
  if (locator.getUint32(0, true) !== 0x07064b50) return undefined;
  const at = uint64(locator, 8);
  const large = await viewOf(source, at, largeEndLength);
  if (large.getUint32(0, true) !== 0x06064b50 || at + 12 + uint64(large, 4) !== endAt - locatorLength) throw new ZipFault(damaged);
  const isWhole = large.getUint32(16, true) === 0 && large.getUint32(20, true) === 0 && uint64(large, 24) === uint64(large, 32);
  if (!isWhole) throw new ZipFault('it is only a part of a zip file');
  return { count: uint64(large, 32), length: uint64(large, 40), start: uint64(large, 48), at };
}

/** @param {DataView} directory @param {number} at @param {number} extraAt @param {number} commentAt @returns {ZipEntry} */
function entryOf(directory, at, extraAt, commentAt) {
  const rawName = octetsOf(directory, at + headerLength, extraAt);
  const fields = [24, 20, 42].map((offset) => directory.getUint32(at + offset, true));
  const [size = 0, packedSize = 0, header = 0] = largeNumbers(fields, octetsOf(directory, extraAt, commentAt));
  return { name: nameOf(rawName), rawName, method: directory.getUint16(at + 10, true), packedSize, size, at: header };
}

/**
 * Returns the numbers in fields of 32 bits. Numbers that are too large for 32 bits are in the extra field 1, in the same order (§4.5.3).
 * @param {readonly number[]} fields @param {Uint8Array} extra
 */
export function largeNumbers(fields, extra) {
  const view = new DataView(extra.buffer, extra.byteOffset, extra.length);
  let at = 0;
  let end = 0;
  for (let field = 0; field + 4 <= extra.length && end === 0; ) {
    const next = field + 4 + view.getUint16(field + 2, true);
    if (view.getUint16(field, true) === 1 && next <= extra.length) [at, end] = [field + 4, next];
    field = next;
  }
  return fields.map((field) => {
    if (field !== most32) return field;
    at += 8;
    if (at > end) throw new ZipFault(damaged);
    return uint64(view, at - 8);
  });
}

/** @param {Uint8Array} rawName */
function nameOf(rawName) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawName);
  } catch {
    return new TextDecoder('windows-1252').decode(rawName);
  }
}

/** @param {string} name */
const leadsOut = (name) => name.includes('\\') || name.includes('\0') || /^([a-zA-Z]:|\/)/.test(name) || name.split('/').includes('..');

/** @param {number} flags */
export const isEncrypted = (flags) => (flags & 0x2041) !== 0;

/** @param {ZipEntry} entry @param {number} flags @param {number} fileBytes */
function checkEntry({ name, method, packedSize, size }, flags, fileBytes) {
  if (leadsOut(name)) throw new ZipFault(`${name} would be unpacked outside of it`);
  if (isEncrypted(flags)) throw new ZipFault(`${name} is encrypted`);
  if (method !== stored && method !== deflated) throw new ZipFault(`${name} uses a compression method that is not allowed here`);
  if (packedSize > fileBytes) throw new ZipFault(`${name} is larger than the container`);
  if (size > suspiciousBytes && size > suspiciousRatio * packedSize) throw new ZipFault(`${name} unpacks to far more than its packed size`);
  if (method === stored && packedSize !== size) throw new ZipFault(`${name} has two sizes`);
}

/** Checks that no entry overlaps another entry or the directory. @param {readonly ZipEntry[]} entries @param {number} directoryAt */
function checkApart(entries, directoryAt) {
  const inOrder = entries.toSorted((a, b) => a.at - b.at);
  for (const [i, { at, rawName, packedSize }] of inOrder.entries()) {
    const next = inOrder[i + 1]?.at ?? directoryAt;
    if (at + localLength + rawName.length + packedSize > next) throw new ZipFault('its entries overlap');
  }
}
