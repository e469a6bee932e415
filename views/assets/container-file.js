// @ts-check
import { openEntry, readEntries, ZipFault } from './zip-entries.js';

/** The media type of an ASiC-S container (EN 319 162-1 §4.3.3.1), which its first entry says. */
const containerType = 'application/vnd.etsi.asic-s+zip';
const fullContainerType = 'application/vnd.etsi.asic-e+zip';
/** Where the proof is (EN 319 162-1 §4.3.3.2): a time-stamp token, or an evidence record (RFC 4998). */
const proofNames = ['META-INF/timestamp.tst', 'META-INF/evidencerecord.ers'];
/** A list of the files inside, as OpenDocument has it, and the folder itself. */
const harmless = ['META-INF/manifest.xml', 'META-INF/'];
/** Others renew a time-stamp by two more entries each time. */
const mostEntries = 1_000;
const mostProofBytes = 1_000_000;
/** What unpacks to more than this, and to that many times what is packed, is made to hurt. */
const suspiciousBytes = 64 * 1024 * 1024;
const suspiciousRatio = 200;

/**
 * An ASiC-S container with one file and a proof over it. Its bytes were judged by nobody.
 *
 * @typedef {object} Container
 * @property {string} proofName
 * @property {Uint8Array} proof a time-stamp token or an evidence record, as it is inside
 * @property {import('./hash-file.js').Content} content the file inside
 * @property {string[]} unread what else is in META-INF, and nobody looked at
 */

/** @param {File} file */
async function checkFirstEntry(file) {
  const header = new DataView(await file.slice(0, 38).arrayBuffer());
  if (header.byteLength < 38 || header.getUint32(0, true) !== 0x04034b50) throw new ZipFault('it is no zip file');
  const isMimetype = header.getUint16(26, true) === 8 && new TextDecoder('latin1').decode(header.buffer.slice(30)) === 'mimetype';
  if (!isMimetype) throw new ZipFault('its first entry is not mimetype');
  if (header.getUint16(8, true) !== 0) throw new ZipFault('its mimetype is compressed');
}

/** By name, each once. @param {File} file */
async function readByName(file) {
  /** @type {Map<string, import('./zip-entries.js').ZipEntry>} */
  const entries = new Map();
  const names = new Set();
  let packed = 0;
  for (const entry of await readEntries(file, mostEntries)) {
    const { name, size, packedSize } = entry;
    packed += packedSize;
    if (size > suspiciousBytes && size > suspiciousRatio * packedSize) throw new ZipFault(`${name} unpacks to far more than it holds`);
    if (names.size === names.add(name.toLowerCase()).size) throw new ZipFault(`${name} is in it twice`);
    entries.set(name, entry);
  }
  if (packed > file.size) throw new ZipFault('its entries overlap');
  return entries;
}

/** @param {File} file @param {import('./zip-entries.js').ZipEntry} entry @param {number} mostBytes */
async function readSmall(file, entry, mostBytes) {
  if (entry.size > mostBytes) throw new ZipFault(`${entry.name} is too large`);
  const reader = (await openEntry(file, entry)).getReader();
  const pieces = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(value);
  }
}

/**
 * Opens an ASiC-S container with a time-stamp token or an evidence record (EN 319 162-1 §4.3), by the rules of `src/cli/container-read.ts`: the same
 * table of bad containers tests both. Memory does not grow with the file.
 *
 * @param {File} file
 * @returns {Promise<Container>}
 * @throws {ZipFault}
 */
export async function openContainer(file) {
  await checkFirstEntry(file);
  const entries = await readByName(file);
  const mimetype = entries.get('mimetype');
  if (mimetype?.at !== 0) throw new ZipFault('its first entry is not mimetype');
  const type = new TextDecoder().decode(await readSmall(file, mimetype, 128));
  if (type === fullContainerType) throw new ZipFault('it is an ASiC-E container, for signatures and for several files');
  if (type !== containerType) throw new ZipFault('its mimetype names another type');
  const names = [...entries.keys()].filter((name) => name !== 'mimetype');
  const [dataName, ...others] = names.filter((name) => !/^META-INF\//i.test(name));
  const data = dataName === undefined || dataName.includes('/') || others.length > 0 ? undefined : entries.get(dataName);
  if (!data) throw new ZipFault('it must hold one file, and no folder');
  const proofName = proofNames.find((name) => entries.has(name));
  const proof = proofName === undefined ? undefined : entries.get(proofName);
  if (proofName === undefined || !proof) throw new ZipFault(`it has neither ${proofNames[0]} nor ${proofNames[1]}`);
  return {
    proofName,
    proof: await readSmall(file, proof, mostProofBytes),
    content: { name: data.name, size: data.size, stream: () => openEntry(file, data) },
    unread: names.filter((name) => ![dataName, proofName, ...harmless].includes(name)),
  };
}
