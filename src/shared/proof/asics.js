// @ts-check
// Reads ASiC-S containers (EN 319 162-1 §4.3). A container is a zip file with one file and a proof of the time at which this file existed.
import { signedTextOf } from './octets.js';
import { openZip } from './zip.js';
import { ZipFault } from './zip-source.js';

/** The media type of a container. It is the content of its first entry (§4.3.3.1). */
export const containerType = 'application/vnd.etsi.asic-s+zip';
const fullContainerType = 'application/vnd.etsi.asic-e+zip';
/** The name of the entry with the proof (§4.3.3.2). The proof is a time-stamp token, or an evidence record (RFC 4998). */
export const proofEntries = /** @type {const} */ ({ token: 'META-INF/timestamp.tst', record: 'META-INF/evidencerecord.ers' });
/** Other entries that are accepted without a note: a list of the files, as in OpenDocument, and the folder `META-INF`. */
const harmless = ['META-INF/manifest.xml', 'META-INF/'];
/** The maximum number of entries in a container. Other programs add two entries for each renewal. */
const mostEntries = 1_000;
const mostProofBytes = 2 * 1024 * 1024;

/**
 * An ASiC-S container with one file and a proof over it. Its contents are not verified.
 *
 * @typedef {object} Container
 * @property {string} name the name of the file inside
 * @property {number} size the size of the file inside, in octets
 * @property {string} proofName the name of the entry with the proof
 * @property {Uint8Array} proof a time-stamp token or an evidence record, unchanged
 * @property {() => AsyncGenerator<Uint8Array>} readFile unpacks the file while it is read; fails with a ZipFault
 * @property {readonly string[]} unread the names of other entries in META-INF, which are not read or checked
 */

/** @param {DataView} head */
function checkHead(head) {
  const name = new TextDecoder('latin1').decode(new Uint8Array(head.buffer, head.byteOffset + 30, 8));
  if (head.getUint16(26, true) !== 8 || name !== 'mimetype') throw new ZipFault('its first entry is not mimetype');
  if (head.getUint16(8, true) !== 0) throw new ZipFault('its mimetype is compressed');
}

/**
 * Opens a container with a time-stamp token or an evidence record, whatever program made it. Memory use does not grow with the file.
 *
 * @param {import('./zip-source.js').ZipSource} source
 * @param {import('./zip.js').Inflate} inflate
 * @returns {Promise<Container>}
 * @throws {ZipFault} with the reason in one sentence
 */
export async function openContainer(source, inflate) {
  const { entries, read, readSmall } = await openZip(source, { inflate, mostEntries, checkHead });
  const mimetype = entries.get('mimetype');
  if (mimetype?.at !== 0) throw new ZipFault('its first entry is not mimetype');
  const type = signedTextOf(await readSmall(mimetype, 128));
  if (type === fullContainerType) throw new ZipFault('it is an ASiC-E container, for signatures and for several files');
  if (type !== containerType) throw new ZipFault('its mimetype names another type');
  const [data, ...others] = [...entries.values()].filter(({ name }) => name !== 'mimetype' && !/^META-INF\//i.test(name));
  if (!data || others.length > 0 || data.name.includes('/')) throw new ZipFault('it must have one file, and no folder');
  const proof = entries.get(proofEntries.token) ?? entries.get(proofEntries.record);
  if (!proof) throw new ZipFault(`it has neither ${proofEntries.token} nor ${proofEntries.record}`);
  return {
    name: data.name,
    size: data.size,
    proofName: proof.name,
    proof: await readSmall(proof, mostProofBytes),
    readFile: () => read(data),
    unread: [...entries.keys()].filter((name) => !['mimetype', data.name, proof.name, ...harmless].includes(name)),
  };
}
