// @ts-check
/** Tells stamps from other files by their names, and takes the token out of them. */
import { inflate } from './inflate.js';
import { openContainer } from './proof/asics.js';
import { base64Of } from './proof/octets.js';
import { blobSource, ZipFault } from './proof/zip-source.js';

/** Formats that this service does not read. The one place that says so. */
const foreign = {
  '.asice': 'is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.',
  '.sce': 'is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.',
};
const containers = ['.asics', '.scs'];
const binary = ['.tsr', '.tst', '.ers'];
const record = '.qstamp.json';
/** A record of ours and a token are a few kilobytes; a file that is larger is none. */
const maxBytes = 1_000_000;

/** @param {string} name @param {string[]} endings */
const endingOf = (name, endings) => endings.find((ending) => name.toLowerCase().endsWith(ending));

/** @param {File} file */
export const isStampFile = (file) => endingOf(file.name, [record, ...binary, ...containers, ...Object.keys(foreign)]) !== undefined;

/** @typedef {{ proofName: string, content: import('./hash-file.js').Content, unread: readonly string[] }} ReadContainer what is in a container beside its token */

/**
 * The token in a stamp file, base64, and the container that it was in; or a sentence, after the file's name, that says why there is none.
 *
 * @param {File} file
 * @returns {Promise<{ token: string, container?: ReadContainer } | { problem: string }>}
 */
export async function readStampFile(file) {
  const format = endingOf(file.name, Object.keys(foreign));
  if (format !== undefined) return { problem: foreign[/** @type {keyof typeof foreign} */ (format)] };
  if (endingOf(file.name, containers)) return readContainer(file);
  if (file.size > maxBytes) return { problem: 'is too large to be a stamp.' };
  if (endingOf(file.name, binary)) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    // DER begins with a SEQUENCE; anything else may be base64 of it, which the service judges as it is.
    return { token: bytes[0] === 0x30 ? base64Of(bytes) : new TextDecoder().decode(bytes) };
  }
  try {
    const { stamp, output } = JSON.parse(await file.text());
    const token = stamp?.token ?? output?.token;
    if (typeof token === 'string') return { token };
    return { problem: 'holds no token: open the address in it that is called verify_url.' };
  } catch {
    return { problem: 'is no record of a stamp: it is not JSON.' };
  }
}

/** @param {File} file */
async function readContainer(file) {
  try {
    const { name, size, proofName, proof, readFile, unread } = await openContainer(blobSource(file), inflate);
    return { token: base64Of(proof), container: { proofName, content: { name, size, read: readFile }, unread } };
  } catch (error) {
    if (error instanceof ZipFault) return { problem: `is no ASiC-S container that can be judged: ${error.message}.` };
    throw error;
  }
}
