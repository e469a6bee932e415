import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { CommandFailure, exitCodes } from './failure.ts';

/** The media type of an ASiC-S container (EN 319 162-1 §4.3.3.1), which its first entry says. */
export const containerType = 'application/vnd.etsi.asic-s+zip';
const fullContainerType = 'application/vnd.etsi.asic-e+zip';
/** Where the proof is (EN 319 162-1 §4.3.3.2): a time-stamp token, or an evidence record (RFC 4998). */
export const proofEntries = { token: 'META-INF/timestamp.tst', record: 'META-INF/evidencerecord.ers' } as const;
/** A list of the files inside, as OpenDocument has it, and the folder itself. */
const harmless = ['META-INF/manifest.xml', 'META-INF/'];
export const isContainerPath = (path: string): boolean => /\.(asics|scs)$/i.test(path);

/** An ASiC-S container with one file and a proof over it. Its bytes were judged by nobody. */
export interface Container {
  /** The name of the file inside. */
  readonly name: string;
  /** A time-stamp token or an evidence record, as it is inside. */
  readonly proof: Buffer;
  /** The file, unpacked as it is read. */
  openFile(): Promise<Readable>;
  /** What else is in META-INF, and nobody looked at. */
  readonly unread: readonly string[];
  close(): void;
}

/** Others renew a time-stamp by two more entries each time. */
const mostEntries = 1_000;
const mostProofBytes = 2 * 1024 * 1024;
/** What unpacks to more than this, and to that many times what is packed, is made to hurt. */
const suspiciousBytes = 64 * 1024 * 1024;
const suspiciousRatio = 200;

const refuse = (why: string): CommandFailure => new CommandFailure(exitCodes.notValid, `this is no ASiC-S container: ${why}`);

/** Trouble in reading a container, in one sentence. */
export const asContainerFault = (error: unknown): unknown =>
  error instanceof CommandFailure || !(error instanceof Error) ? error : refuse(error.message);

/** Offsets in the local header of a zip's first entry (APPNOTE.TXT §4.3.7). */
async function checkFirstEntry(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const header = Buffer.alloc(38);
    await file.read(header, 0, header.length, 0);
    if (header.readUInt32LE(0) !== 0x04034b50) throw refuse('it is no zip file');
    const isMimetype = header.readUInt16LE(26) === 8 && header.toString('latin1', 30, 38) === 'mimetype';
    if (!isMimetype) throw refuse('its first entry is not mimetype');
    if (header.readUInt16LE(8) !== 0) throw refuse('its mimetype is compressed');
  } finally {
    await file.close();
  }
}

function checkEntry(entry: Entry, fileBytes: number): void {
  const { fileName, compressedSize, uncompressedSize } = entry;
  if (entry.isEncrypted()) throw refuse(`${fileName} is encrypted`);
  if (compressedSize > fileBytes) throw refuse(`${fileName} is larger than the container`);
  if (uncompressedSize > suspiciousBytes && uncompressedSize > suspiciousRatio * compressedSize) {
    throw refuse(`${fileName} unpacks to far more than it holds`);
  }
}

/** By name, each once; names that lead out of the container are refused by the reader of zip files. */
async function readEntries(zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  const names = new Set<string>();
  let packed = 0;
  if (zip.entryCount > mostEntries) throw refuse(`it has more than ${mostEntries} entries`);
  for await (const entry of zip.eachEntry()) {
    checkEntry(entry, zip.fileSize);
    packed += entry.compressedSize;
    if (names.size === names.add(entry.fileName.toLowerCase()).size) throw refuse(`${entry.fileName} is in it twice`);
    entries.set(entry.fileName, entry);
  }
  if (packed > zip.fileSize) throw refuse('its entries overlap');
  return entries;
}

/** The octets of an entry whose two headers say the same, so that no two readers see two files. */
async function openEntry(zip: ZipFile, entry: Entry): Promise<Readable> {
  const local = await zip.readLocalFileHeaderPromise(entry);
  if (!local.fileName.equals(entry.fileNameRaw)) throw refuse(`${entry.fileName} has two names`);
  // What was written as a stream has its sizes behind it (APPNOTE.TXT §4.3.9); those of more than 4 GB are in an extra field.
  const isStreamed = (local.generalPurposeBitFlag & 8) !== 0;
  const isSize = (size: number, said: number) => isStreamed || said === size || said === 0xffffffff;
  const hasSizes = isSize(entry.compressedSize, local.compressedSize) && isSize(entry.uncompressedSize, local.uncompressedSize);
  if (local.compressionMethod !== entry.compressionMethod || !hasSizes) throw refuse(`${entry.fileName} has two headers that differ`);
  return zip.openReadStreamPromise(entry);
}

async function readSmall(zip: ZipFile, entry: Entry, mostBytes: number): Promise<Buffer> {
  if (entry.uncompressedSize > mostBytes) throw refuse(`${entry.fileName} is too large`);
  return buffer(await openEntry(zip, entry));
}

async function readContainer(zip: ZipFile): Promise<Container> {
  const entries = await readEntries(zip);
  const mimetype = entries.get('mimetype');
  if (mimetype?.relativeOffsetOfLocalHeader !== 0) throw refuse('its first entry is not mimetype');
  const type = (await readSmall(zip, mimetype, 128)).toString('latin1');
  if (type === fullContainerType) throw refuse('it is an ASiC-E container, for signatures and for several files');
  if (type !== containerType) throw refuse('its mimetype names another type');
  const isData = (name: string) => name !== 'mimetype' && !/^META-INF\//i.test(name);
  const [data, ...others] = [...entries.values()].filter(({ fileName }) => isData(fileName));
  if (!data || others.length > 0 || data.fileName.includes('/')) throw refuse('it must hold one file, and no folder');
  const proof = entries.get(proofEntries.token) ?? entries.get(proofEntries.record);
  if (!proof) throw refuse(`it has neither ${proofEntries.token} nor ${proofEntries.record}`);
  return {
    name: data.fileName,
    proof: await readSmall(zip, proof, mostProofBytes),
    openFile: () => openEntry(zip, data),
    unread: [...entries.keys()].filter((name) => !['mimetype', data.fileName, proof.fileName, ...harmless].includes(name)),
    close: () => zip.close(),
  };
}

/**
 * Opens an ASiC-S container with a time-stamp token or an evidence record (EN 319 162-1 §4.3), of this command or of others. Memory does not grow with the file.
 *
 * @throws CommandFailure that says in one sentence what is wrong with it
 */
export async function openContainer(path: string): Promise<Container> {
  await checkFirstEntry(path);
  let zip: ZipFile | undefined;
  try {
    zip = await openPromise(path, { autoClose: false, strictFileNames: true });
    return await readContainer(zip);
  } catch (error) {
    zip?.close();
    throw asContainerFault(error);
  }
}
