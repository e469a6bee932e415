// @ts-check
import { hashers } from './hashes.js';
import { hexOf } from './proof/octets.js';

/** @typedef {'sha256' | 'sha384' | 'sha512'} Algorithm */

/**
 * A file, or one inside a container.
 *
 * @typedef {object} Content
 * @property {string} name
 * @property {number} size
 * @property {() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>} stream
 */

/**
 * The digest of a file, lower-case hex, read in pieces: a file of any size in constant memory.
 *
 * @param {Content} file
 * @param {Algorithm} algorithm
 * @param {(percent: number) => void} onProgress
 */
export async function hashFile(file, algorithm, onProgress) {
  const hasher = hashers[algorithm]();
  const reader = (await file.stream()).getReader();
  let read = 0;
  let shown = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return hexOf(hasher.digest());
    hasher.update(value);
    read += value.length;
    const percent = Math.floor((read / file.size) * 100);
    if (percent >= shown + 5) {
      shown = percent;
      onProgress(percent);
      // Lets the page answer while a large file is read.
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
}
