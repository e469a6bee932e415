import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

/** What a zip file is taken for. */
export interface ZipKind {
  /** For people: `ASiC-S container`. */
  readonly name: string;
  readonly mostEntries: number;
  /** Judges the first octets, before anything else is read. @throws CommandFailure */
  checkHead(head: Buffer, refuse: Refuse): void;
}

/** A refusal in one sentence. */
export type Refuse = (why: string) => CommandFailure;

/** A zip file whose entries were looked at: none is there twice, leads out, overlaps another or unpacks to far more than it holds. */
export interface OpenedZip {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Unpacked as it is read. */
  openEntry(entry: Entry): Promise<Readable>;
  readSmall(entry: Entry, mostBytes: number): Promise<Buffer>;
  readonly refuse: Refuse;
  close(): void;
}

/** Octets of the local header of a zip's first entry that say what it is (APPNOTE.TXT §4.3.7). */
const headBytes = 38;
/** What unpacks to more than this, and to that many times what is packed, is made to hurt. */
const suspiciousBytes = 64 * 1024 * 1024;
const suspiciousRatio = 200;
/** Octets of all names, extra fields and comments together: they are kept, and each may have 64 KiB. */
const mostListBytes = 4 * 1024 * 1024;

const refuserOf =
  ({ name }: ZipKind): Refuse =>
  (why) =>
    new CommandFailure(exitCodes.notValid, `this is no ${name}: ${why}`);

/** Trouble in reading a zip file, in one sentence. */
export function asZipFault(kind: ZipKind, error: unknown): unknown {
  const failure = asFailure(error);
  return failure instanceof CommandFailure || !(failure instanceof Error) ? failure : refuserOf(kind)(failure.message);
}

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const head = Buffer.alloc(headBytes);
    await file.read(head, 0, head.length, 0);
    return head;
  } finally {
    await file.close();
  }
}

function checkEntry(entry: Entry, fileBytes: number, refuse: Refuse): void {
  const { fileName, compressedSize, uncompressedSize } = entry;
  if (entry.isEncrypted()) throw refuse(`${fileName} is encrypted`);
  if (compressedSize > fileBytes) throw refuse(`${fileName} is larger than the container`);
  if (uncompressedSize > suspiciousBytes && uncompressedSize > suspiciousRatio * compressedSize) {
    throw refuse(`${fileName} unpacks to far more than it holds`);
  }
}

/** By name, each once; names that lead out of the container are refused by the reader of zip files. */
async function readEntries(zip: ZipFile, mostEntries: number, refuse: Refuse): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  const names = new Set<string>();
  let packed = 0;
  let listed = 0;
  if (zip.entryCount > mostEntries) throw refuse(`it has more than ${mostEntries} entries`);
  for await (const entry of zip.eachEntry()) {
    checkEntry(entry, zip.fileSize, refuse);
    packed += entry.compressedSize;
    listed += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (listed > mostListBytes) throw refuse('its list of entries is too long');
    if (names.size === names.add(entry.fileName.toLowerCase()).size) throw refuse(`${entry.fileName} is in it twice`);
    entries.set(entry.fileName, entry);
  }
  if (packed > zip.fileSize) throw refuse('its entries overlap');
  return entries;
}

/** The octets of an entry whose two headers say the same, so that no two readers see two files. */
async function openEntry(zip: ZipFile, entry: Entry, refuse: Refuse): Promise<Readable> {
  const local = await zip.readLocalFileHeaderPromise(entry);
  if (!local.fileName.equals(entry.fileNameRaw)) throw refuse(`${entry.fileName} has two names`);
  // What was written as a stream has its sizes behind it (APPNOTE.TXT §4.3.9); those of more than 4 GB are in an extra field.
  const isStreamed = (local.generalPurposeBitFlag & 8) !== 0;
  const isSize = (size: number, said: number) => isStreamed || said === size || said === 0xffffffff;
  const hasSizes = isSize(entry.compressedSize, local.compressedSize) && isSize(entry.uncompressedSize, local.uncompressedSize);
  if (local.compressionMethod !== entry.compressionMethod || !hasSizes) throw refuse(`${entry.fileName} has two headers that differ`);
  return zip.openReadStreamPromise(entry);
}

/** @throws CommandFailure that says in one sentence what is wrong with it; Error as the reader of zip files does, for `asZipFault` */
export async function openZip(path: string, kind: ZipKind): Promise<OpenedZip> {
  const refuse = refuserOf(kind);
  const head = await readHead(path);
  if (head.readUInt32LE(0) !== 0x04034b50) throw refuse('it is no zip file');
  kind.checkHead(head, refuse);
  const zip = await openPromise(path, { autoClose: false, strictFileNames: true });
  try {
    const entries = await readEntries(zip, kind.mostEntries, refuse);
    const open = (entry: Entry) => openEntry(zip, entry, refuse);
    return {
      entries,
      openEntry: open,
      readSmall: async (entry, mostBytes) => {
        if (entry.uncompressedSize > mostBytes) throw refuse(`${entry.fileName} is too large`);
        return buffer(await open(entry));
      },
      refuse,
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}
