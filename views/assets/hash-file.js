// @ts-check
import { hashers } from './hashes.js';
import { hexOf } from './proof/octets.js';
import { blobSource, piecesOf } from './proof/zip-source.js';

/** @typedef {'sha256' | 'sha384' | 'sha512'} Algorithm */

/**
 * A file, or the file inside a container.
 *
 * @typedef {object} Content
 * @property {string} name
 * @property {number} size
 * @property {() => AsyncIterable<Uint8Array>} read piece by piece
 */

/** @param {File} file @returns {Content} */
export const contentOf = (file) => ({ name: file.name, size: file.size, read: () => piecesOf(blobSource(file), 0, file.size) });

/**
 * The digest of a file in lower-case hex. The file is read in pieces, so the memory does not depend on its size.
 *
 * @param {Content} file
 * @param {Algorithm} algorithm
 * @param {(percent: number) => void} onProgress
 */
export async function hashFile(file, algorithm, onProgress) {
  const hasher = hashers[algorithm]();
  let read = 0;
  let shown = 0;
  for await (const piece of file.read()) {
    hasher.update(piece);
    read += piece.length;
    const percent = Math.floor((read / file.size) * 100);
    if (percent >= shown + 5) {
      shown = percent;
      onProgress(percent);
      // This lets the page react while a large file is read.
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
  return hexOf(hasher.digest());
}
