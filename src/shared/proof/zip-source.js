// @ts-check
// Reads the octets of a file of any size in small parts.

/**
 * A source of octets: an open file, a Blob (see `blobSource`) or an array.
 *
 * @typedef {object} ZipSource
 * @property {number} size
 * @property {(at: number, length: number) => Promise<Uint8Array>} read returns fewer octets than `length` only at the end of the source
 */

/** The fault of a zip file. The message is the rest of a sentence whose subject is the file: `it is cut off`. */
export class ZipFault extends Error {
  code = /** @type {const} */ ('zip_malformed');
}

const pieceBytes = 256 * 1024;

/** @param {Blob} blob @returns {ZipSource} */
export const blobSource = (blob) => ({
  size: blob.size,
  read: async (at, length) => new Uint8Array(await blob.slice(at, at + length).arrayBuffer()),
});

/** Reads octets of a source in parts. @param {ZipSource} source @param {number} from @param {number} length */
export async function* piecesOf(source, from, length) {
  for (let done = 0; done < length; ) {
    const piece = await source.read(from + done, Math.min(pieceBytes, length - done));
    if (piece.length === 0) throw new ZipFault('it is cut off');
    done += piece.length;
    yield piece;
  }
}

/** @param {ZipSource} source @param {number} at @param {number} length */
export async function viewOf(source, at, length) {
  const octets = at + length > source.size ? new Uint8Array() : await source.read(at, length);
  if (octets.length < length) throw new ZipFault('it is cut off');
  return new DataView(octets.buffer, octets.byteOffset, length);
}

/** @param {DataView} view @param {number} from @param {number} to */
export const octetsOf = (view, from, to) => new Uint8Array(view.buffer, view.byteOffset + from, to - from);
