// @ts-check
// Reads zip files (PKWARE's APPNOTE.TXT 6.3, with the format for more than 4 GB) in parts, so that memory use does not grow with the file. Zip
// readers are known to see different files in the same octets. This reader is strict at these points, so it refuses some harmless files too.
import { concatOctets, isSame } from './octets.js';
import { damaged, isEncrypted, largeNumbers, localLength, readDirectory, stored } from './zip-directory.js';
import { octetsOf, piecesOf, viewOf, ZipFault } from './zip-source.js';

/** @typedef {import('./zip-source.js').ZipSource} ZipSource */
/** @typedef {import('./zip-directory.js').ZipEntry} ZipEntry */

/**
 * Unpacks a stream of deflate (RFC 1951). Fails if the octets are cut off or damaged, or continue after the last block.
 * @typedef {(packed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>} Inflate
 */

/**
 * A zip file with a checked directory. No entry occurs twice, would be unpacked outside of the folder, overlaps another entry or the directory, or
 * unpacks to far more than its packed size.
 *
 * @typedef {object} OpenedZip
 * @property {ReadonlyMap<string, ZipEntry>} entries
 * @property {(entry: ZipEntry) => AsyncGenerator<Uint8Array>} read unpacks an entry in parts; fails with a ZipFault if it does not match the directory
 * @property {(entry: ZipEntry, mostBytes: number) => Promise<Uint8Array>} readSmall unpacks an entry of at most `mostBytes` as a whole
 */

const headLength = 38;

/**
 * Opens a zip file and checks its directory.
 *
 * @param {ZipSource} source
 * @param {object} kind
 * @param {Inflate} kind.inflate
 * @param {number} kind.mostEntries
 * @param {(head: DataView) => void} [kind.checkHead] checks the first 38 octets, which describe the first entry (§4.3.7), before the rest is read
 * @returns {Promise<OpenedZip>}
 * @throws {ZipFault}
 */
export async function openZip(source, { inflate, mostEntries, checkHead }) {
  const head = source.size < headLength ? undefined : await viewOf(source, 0, headLength);
  if (head?.getUint32(0, true) !== 0x04034b50) throw new ZipFault('it is not a zip file');
  checkHead?.(head);
  const entries = await readDirectory(source, mostEntries);

  /** @param {ZipEntry} entry */
  async function* read(entry) {
    const start = await startOf(source, entry);
    let packedRead = 0;
    let isReadable = true;
    async function* packed() {
      try {
        for await (const piece of piecesOf(source, start, entry.packedSize)) {
          packedRead += piece.length;
          yield piece;
        }
      } catch (error) {
        isReadable = false;
        throw error;
      }
    }
    let size = 0;
    const wrongSize = () => new ZipFault(`${entry.name} does not unpack to the size that it says`);
    try {
      for await (const piece of entry.method === stored ? packed() : inflate(packed())) {
        size += piece.length;
        if (size > entry.size) throw wrongSize();
        yield piece;
      }
    } catch (error) {
      // If the source cannot be read, this is not a fault of the zip file.
      throw error instanceof ZipFault || !isReadable ? error : new ZipFault(`${entry.name} is damaged`);
    }
    if (size !== entry.size) throw wrongSize();
    if (packedRead !== entry.packedSize) throw new ZipFault(`${entry.name} is damaged`);
  }

  return {
    entries,
    read,
    readSmall: async (entry, mostBytes) => {
      if (entry.size > mostBytes) throw new ZipFault(`${entry.name} is too large`);
      const pieces = [];
      for await (const piece of read(entry)) pieces.push(piece);
      return concatOctets(pieces);
    },
  };
}

/**
 * Returns where the octets of an entry begin. Checks that its local header agrees with the directory, so that two readers do not see different files.
 * @param {ZipSource} source @param {ZipEntry} entry
 */
async function startOf(source, { name, rawName, method, packedSize, size, at }) {
  const header = await viewOf(source, at, localLength);
  if (header.getUint32(0, true) !== 0x04034b50) throw new ZipFault(damaged);
  const [nameBytes, extraBytes] = [header.getUint16(26, true), header.getUint16(28, true)];
  const rest = octetsOf(await viewOf(source, at + localLength, nameBytes + extraBytes), 0, nameBytes + extraBytes);
  if (!isSame(rest.subarray(0, nameBytes), rawName)) throw new ZipFault(`${name} has two names`);
  const flags = header.getUint16(6, true);
  if (isEncrypted(flags)) throw new ZipFault(`${name} is encrypted`);
  const fields = [22, 18].map((offset) => header.getUint32(offset, true));
  // If an entry was written as a stream, its sizes come after its octets (§4.3.9), and the header does not have them.
  const isStreamed = (flags & 8) !== 0;
  const [localSize, localPacked] = isStreamed ? [size, packedSize] : largeNumbers(fields, rest.subarray(nameBytes));
  if (header.getUint16(8, true) !== method || localSize !== size || localPacked !== packedSize)
    throw new ZipFault(`${name} has two headers that differ`);
  return at + localLength + rest.length;
}
