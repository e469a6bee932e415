// @ts-check
// The entries of a zip file (PKWARE's APPNOTE.TXT 6.3), read piece by piece: a file of any size in constant memory. It is strict where readers
// of zip files are known to see different files in the same bytes.

/** What is wrong with a zip file, in a sentence without its subject. */
export class ZipFault extends Error {}

/**
 * @typedef {object} ZipEntry
 * @property {string} name
 * @property {Uint8Array} rawName the name as its octets are
 * @property {number} flags
 * @property {number} method
 * @property {number} packedSize octets in the zip file
 * @property {number} size octets when unpacked, as the directory claims
 * @property {number} at where its local header begins
 */

const endLength = 22;
const headerLength = 46;
const localLength = 30;
const mostCommentBytes = 0xffff;
const mostDirectoryBytes = 1_000_000;
const stored = 0;
const deflated = 8;

/** @param {Blob} file @param {number} from @param {number} length */
async function readView(file, from, length) {
  const bytes = await file.slice(from, from + length).arrayBuffer();
  if (bytes.byteLength < length) throw new ZipFault('it is cut off');
  return new DataView(bytes);
}

/** The end of the central directory (§4.3.16): it is last, and says how long the comment behind it is. @param {Blob} file */
async function readEnd(file) {
  const start = Math.max(0, file.size - endLength - mostCommentBytes);
  const tail = await readView(file, start, file.size - start);
  for (let at = tail.byteLength - endLength; at >= 0; at -= 1) {
    if (tail.getUint32(at, true) !== 0x06054b50) continue;
    if (tail.getUint16(at + 20, true) !== tail.byteLength - at - endLength) throw new ZipFault('something follows its end');
    const end = { count: tail.getUint16(at + 10, true), length: tail.getUint32(at + 12, true), start: tail.getUint32(at + 16, true) };
    if (end.count === 0xffff || end.length === 0xffffffff || end.start === 0xffffffff) throw new ZipFault(tooLarge);
    if (tail.getUint32(at + 4, true) !== 0) throw new ZipFault('it is a part of a zip file only');
    return end;
  }
  throw new ZipFault('it is cut off');
}

const tooLarge = 'it is in the format for more than 4 GB, which qstamp verify reads';

/** @param {Uint8Array} rawName */
function nameOf(rawName) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(rawName);
  } catch {
    return new TextDecoder('windows-1252').decode(rawName);
  }
}

/** @param {string} name */
const leadsOut = (name) => name.includes('\\') || name.includes('\0') || /^([a-zA-Z]:|\/)/.test(name) || name.split('/').includes('..');

/** @param {ZipEntry} entry */
function checkEntry({ name, flags, method, packedSize, size, at }) {
  if (leadsOut(name)) throw new ZipFault(`${name} leads out of it`);
  if ([packedSize, size, at].includes(0xffffffff)) throw new ZipFault(tooLarge);
  if ((flags & 0x41) !== 0) throw new ZipFault(`${name} is encrypted`);
  if (method !== stored && method !== deflated) throw new ZipFault(`${name} is packed in a way that nobody should use here`);
  if (method === stored && packedSize !== size) throw new ZipFault(`${name} has two sizes`);
}

/**
 * All entries, as the central directory has them (§4.3.12), names that lead out of the file refused.
 *
 * @param {Blob} file
 * @param {number} most how many entries it may have
 * @throws {ZipFault}
 */
export async function readEntries(file, most) {
  const { count, length, start } = await readEnd(file);
  if (count > most) throw new ZipFault(`it has more than ${most} entries`);
  if (length > mostDirectoryBytes) throw new ZipFault('its directory is too large');
  const directory = await readView(file, start, length);
  /** @type {ZipEntry[]} */
  const entries = [];
  let at = 0;
  for (; entries.length < count; ) {
    if (at + headerLength > length || directory.getUint32(at, true) !== 0x02014b50) throw new ZipFault('its directory is damaged');
    const nameLength = directory.getUint16(at + 28, true);
    const next = at + headerLength + nameLength + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
    if (next > length) throw new ZipFault('its directory is damaged');
    const rawName = new Uint8Array(directory.buffer, at + headerLength, nameLength);
    const entry = {
      name: nameOf(rawName),
      rawName,
      flags: directory.getUint16(at + 8, true),
      method: directory.getUint16(at + 10, true),
      packedSize: directory.getUint32(at + 20, true),
      size: directory.getUint32(at + 24, true),
      at: directory.getUint32(at + 42, true),
    };
    checkEntry(entry);
    entries.push(entry);
    at = next;
  }
  if (at !== length) throw new ZipFault('its directory is damaged');
  return entries;
}

/**
 * Where the octets of an entry begin. Both of its headers must say the same, so that no two readers see two files.
 *
 * @param {Blob} file
 * @param {ZipEntry} entry
 */
async function startOf(file, { name, rawName, method, packedSize, size, at }) {
  const header = await readView(file, at, localLength);
  if (header.getUint32(0, true) !== 0x04034b50) throw new ZipFault('its directory is damaged');
  const localName = new Uint8Array((await readView(file, at + localLength, header.getUint16(26, true))).buffer);
  if (localName.length !== rawName.length || localName.some((octet, i) => octet !== rawName[i]))
    throw new ZipFault(`${name} has two names`);
  // What was written as a stream has its sizes behind it (§4.3.9), and none here.
  const isStreamed = (header.getUint16(6, true) & 8) !== 0;
  const hasSizes = header.getUint32(18, true) === packedSize && header.getUint32(22, true) === size;
  if (header.getUint16(8, true) !== method || !(isStreamed || hasSizes)) throw new ZipFault(`${name} has two headers that differ`);
  const start = at + localLength + localName.length + header.getUint16(28, true);
  if (start + packedSize > file.size) throw new ZipFault('it is cut off');
  return start;
}

/**
 * The octets of an entry, unpacked as they are read.
 *
 * @param {Blob} file
 * @param {ZipEntry} entry
 * @returns {Promise<ReadableStream<Uint8Array<ArrayBuffer>>>} fails with a ZipFault where they are not those that the directory claims
 */
export async function openEntry(file, entry) {
  const start = await startOf(file, entry);
  const packed = file.slice(start, start + entry.packedSize).stream();
  const reader = (entry.method === stored ? packed : packed.pipeThrough(new DecompressionStream('deflate-raw'))).getReader();
  let read = 0;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch(() => {
        throw new ZipFault(`${entry.name} is damaged`);
      });
      read += value?.length ?? 0;
      if (done ? read !== entry.size : read > entry.size) {
        reader.cancel().catch(() => {});
        throw new ZipFault(`${entry.name} unpacks to another size than it says`);
      }
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
