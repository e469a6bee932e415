// @ts-check
// Recognizes stamp files by their names, and reads the token in them.
import { inflate } from './inflate.js';
import { openContainer } from './proof/asics.js';
import { base64Of } from './proof/octets.js';
import { blobSource, ZipFault } from './proof/zip-source.js';

/** Formats that this page does not read, with the reason. */
const foreign = {
  '.asice': 'is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.',
  '.sce': 'is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.',
};
const containers = ['.asics', '.scs'];
const binary = ['.tsr', '.tst', '.ers'];
const record = '.qstamp.json';
/** The maximum size of a stamp file. Our records and tokens have only a few kilobytes. */
const maxBytes = 1_000_000;

/** @param {string} name @param {string[]} endings */
const endingOf = (name, endings) => endings.find((ending) => name.toLowerCase().endsWith(ending));

/** @param {File} file */
export const isStampFile = (file) => endingOf(file.name, [record, ...binary, ...containers, ...Object.keys(foreign)]) !== undefined;

/**
 * @typedef {{ proofName: string, content: import('./hash-file.js').Content, unread: readonly string[] }} ReadContainer the contents of a container
 *   except its token
 */

/**
 * Reads the token in a stamp file, in base64, and the other contents if it is a container. Or returns a problem: the end of a sentence that begins
 * with the file's name.
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
    // DER begins with a SEQUENCE. Anything else may be base64, and the service checks it.
    return { token: bytes[0] === 0x30 ? base64Of(bytes) : new TextDecoder().decode(bytes) };
  }
  try {
    const { stamp, output } = JSON.parse(await file.text());
    const token = stamp?.token ?? output?.token;
    if (typeof token === 'string') return { token };
    return { problem: 'contains no token: open the address in it that is called verify_url.' };
  } catch {
    return { problem: 'is not a record of a stamp: it is not JSON.' };
  }
}

/** @param {File} file */
async function readContainer(file) {
  try {
    const { name, size, proofName, proof, readFile, unread } = await openContainer(blobSource(file), inflate);
    return { token: base64Of(proof), container: { proofName, content: { name, size, read: readFile }, unread } };
  } catch (error) {
    if (error instanceof ZipFault) return { problem: `is not an ASiC-S container that this page can read: ${error.message}.` };
    throw error;
  }
}
