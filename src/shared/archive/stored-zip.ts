import { crc32 } from 'node:zlib';

/** A file to put into a zip file. Size and CRC-32 must be known first, because the format puts them before the octets. */
export interface StoredFile {
  readonly name: string;
  /** Size in octets. */
  readonly size: number;
  readonly crc32: number;
  readonly octets: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export const storedFile = (name: string, content: Buffer): StoredFile => ({
  name,
  size: content.length,
  crc32: crc32(content),
  octets: [content],
});

/** In a field of 32 bits, this value means that the number is in an extra field (APPNOTE.TXT §4.5.3). */
const most32 = 0xffffffff;

/** Makes `length` octets with these fields. All other octets are zero. */
function fieldsOf(length: number, fields: readonly (readonly [at: number, octets: 2 | 4 | 8, value: number])[]): Buffer {
  const bytes = Buffer.alloc(length);
  for (const [at, octets, value] of fields) {
    if (octets === 8) bytes.writeBigUInt64LE(BigInt(value), at);
    else bytes.writeUIntLE(value, at, octets);
  }
  return bytes;
}

const extraFieldOf = (numbers: readonly number[]): Buffer =>
  numbers.length === 0
    ? Buffer.alloc(0)
    : fieldsOf(4 + 8 * numbers.length, [
        [0, 2, 1],
        [2, 2, 8 * numbers.length],
        ...numbers.map((number, index) => [4 + 8 * index, 8, number] as const),
      ]);

/**
 * Makes the part that is the same in the header before a file and in its header in the directory (§4.3.7, §4.3.12). The time is always the earliest
 * time of the format, so that the same files give the same octets.
 */
const headerOf = ({ name, size, crc32 }: StoredFile, extra: Buffer): Buffer =>
  fieldsOf(26, [
    [0, 2, extra.length > 0 ? 45 : 20],
    [2, 2, 0x0800], // the name is UTF-8
    [8, 2, 0x0021], // 1 January 1980
    [10, 4, crc32],
    [14, 4, Math.min(size, most32)],
    [18, 4, Math.min(size, most32)],
    [22, 2, Buffer.byteLength(name)],
    [24, 2, extra.length],
  ]);

function localHeaderOf(file: StoredFile): Buffer {
  const extra = extraFieldOf(file.size < most32 ? [] : [file.size, file.size]);
  return Buffer.concat([Buffer.from('PK\x03\x04'), headerOf(file, extra), Buffer.from(file.name), extra]);
}

/** Makes the header of a file in the directory. @param at where the local header of the file begins */
function directoryEntryOf(file: StoredFile, at: number): Buffer {
  const extra = extraFieldOf([...(file.size < most32 ? [] : [file.size, file.size]), ...(at < most32 ? [] : [at])]);
  const rest = fieldsOf(14, [
    [6, 4, 0o100644 * 0x10000],
    [10, 4, Math.min(at, most32)],
  ]);
  return Buffer.concat([Buffer.from('PK\x01\x02\x3f\x03'), headerOf(file, extra), rest, Buffer.from(file.name), extra]);
}

/** Makes the end of a zip file. @param at where the directory begins */
function endOf(count: number, directoryBytes: number, at: number): Buffer {
  const end = fieldsOf(22, [
    [0, 4, 0x06054b50],
    [8, 2, count],
    [10, 2, count],
    [12, 4, directoryBytes],
    [16, 4, Math.min(at, most32)],
  ]);
  if (at < most32) return end;
  const largeEnd = fieldsOf(56, [
    [0, 4, 0x06064b50],
    [4, 8, 44],
    [12, 2, 0x033f],
    [14, 2, 45],
    [24, 8, count],
    [32, 8, count],
    [40, 8, directoryBytes],
    [48, 8, at],
  ]);
  const locator = fieldsOf(20, [
    [0, 4, 0x07064b50],
    [8, 8, at + directoryBytes],
    [16, 4, 1],
  ]);
  return Buffer.concat([largeEnd, locator, end]);
}

/**
 * Yields the octets of a zip file (APPNOTE.TXT 6.3) with a few uncompressed files of any size, while these files are read. The library `yazl` is not
 * used here: it writes the CRC-32 of a stream after it, and `java.util.zip.ZipInputStream` refuses this for uncompressed files.
 */
export async function* storedZip(files: readonly StoredFile[]): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const file of files) {
    const header = localHeaderOf(file);
    yield header;
    yield* file.octets;
    directory.push(directoryEntryOf(file, at));
    at += header.length + file.size;
  }
  const entries = Buffer.concat(directory);
  yield entries;
  yield endOf(files.length, entries.length, at);
}
