// @ts-check
// Recognizes stamp files by their names, and reads the token in them.
import { inflate } from './inflate.js';
import { openContainer } from './proof/asics.js';
import { base64Of } from './proof/octets.js';
import { blobSource, ZipFault } from './proof/zip-source.js';
import { t } from './words.js';

/** Formats that this page does not read, with the reason. */
const foreign = {
  '.tsq': t('is a request for a time-stamp, not a stamp. Use the .tsr, .tst or .ers file.'),
  '.asice': t('is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.'),
  '.sce': t('is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.'),
};
const containers = ['.asics', '.scs'];
const binary = ['.tsr', '.tst', '.ers'];
const record = '.qstamp.json';
/** The maximum size of a stamp file. Our records and tokens have only a few kilobytes. */
const maxBytes = 1_000_000;

/** @param {string} name @param {string[]} endings */
const endingOf = (name, endings) => endings.find((ending) => name.toLowerCase().endsWith(ending));

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What is said about a file of `qstamp workflow start`. It contains a secret. */
const isOfWorkflow = t(
  'is not a stamp: it contains the secret token of a record, so give it to nobody. It was not sent to us. Choose a file of the record and its .qstamp.json instead.',
);

/** @param {{ name: string }} file */
export const isStampFile = (file) => endingOf(file.name, [record, ...binary, ...containers, ...Object.keys(foreign)]) !== undefined;

/**
 * @typedef {{ proofName: string, content: import('./hash-file.js').Content, unread: readonly string[] }} ReadContainer the contents of a container
 *   except its token
 */

/**
 * Reads the token in a stamp file, in base64, and the other contents if it is a container. Or returns a problem: the end of a sentence that begins
 * with the file's name. If the file names a stamp but lacks its token, `stampPage` is the path of the stamp's page in this service.
 *
 * @param {File} file
 * @returns {Promise<{ token: string, container?: ReadContainer } | { problem: string, stampPage?: string }>}
 */
export async function readStampFile(file) {
  const format = endingOf(file.name, Object.keys(foreign));
  if (format !== undefined) return { problem: foreign[/** @type {keyof typeof foreign} */ (format)] };
  if (endingOf(file.name, containers)) return readContainer(file);
  if (file.size > maxBytes) return { problem: t('is too large to be a stamp.') };
  if (endingOf(file.name, binary)) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    // DER begins with a SEQUENCE. Anything else may be base64, and the service checks it.
    return { token: bytes[0] === 0x30 ? base64Of(bytes) : new TextDecoder().decode(bytes) };
  }
  return readRecord(parseJson(await file.text()));
}

/** Reads a record that `qstamp stamp` or `qstamp workflow add` saved. @param {any} saved the parsed JSON; undefined if the file is not JSON */
function readRecord(saved) {
  if (saved?.kind === 'workflow') return { problem: isOfWorkflow };
  const token = saved?.stamp?.token ?? saved?.token;
  if (typeof token === 'string') return { token };
  const id = saved?.output?.stamp_token_id;
  if (!uuid.test(id)) return { problem: t('is not a stamp that the command saved. Choose a .qstamp.json, .tsr, .tst or .ers file.') };
  return {
    problem: t('has no token, so nothing in it can be verified. Test stamps of the provider mock never have one.'),
    stampPage: `/api/v1/verify/v1/token/${id}`,
  };
}

/** @param {string} text */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Why a file without a stamp does not wait for one: it is a JSON file of `qstamp workflow start`. Returns the end of a sentence that begins
 * with the file's name, or undefined for any other file.
 *
 * @param {import('./hash-file.js').Content} file
 */
export async function whyNotStamped(file) {
  if (!file.name.toLowerCase().endsWith('.json') || file.size > maxBytes) return undefined;
  const pieces = [];
  for await (const piece of file.read()) pieces.push(new Uint8Array(piece));
  return parseJson(await new Blob(pieces).text())?.kind === 'workflow' ? isOfWorkflow : undefined;
}

/** @param {File} file */
async function readContainer(file) {
  try {
    const { name, size, proofName, proof, readFile, unread } = await openContainer(blobSource(file), inflate);
    return { token: base64Of(proof), container: { proofName, content: { name, size, read: readFile }, unread } };
  } catch (error) {
    if (error instanceof ZipFault)
      return { problem: t('is not an ASiC-S container that this page can read: {reason}.', { reason: error.message }) };
    throw error;
  }
}
