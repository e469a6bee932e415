import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';

/** ASiC-S containers (EN 319 162-1), good and bad. */

export const containerType = 'application/vnd.etsi.asic-s+zip';

export interface Member {
  readonly name: string;
  readonly content: Buffer | string;
  readonly compress?: boolean;
  /** Its CRC-32 and sizes follow it, as in a streamed zip. */
  readonly isStreamed?: boolean;
}

interface Header {
  readonly generalPurposeBitFlag: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
}

const told = ({ generalPurposeBitFlag, crc32, compressedSize, uncompressedSize }: Header) => ({
  hasDescriptor: (generalPurposeBitFlag & 8) !== 0,
  crc32,
  packedBytes: compressedSize,
  bytes: uncompressedSize,
});

/** Both headers of each file of a zip (APPNOTE.TXT §4.3.7, §4.3.12): in the directory, and before the file. */
export async function headersOf(bytes: Buffer) {
  const zip = await fromBufferPromise(bytes, { lazyEntries: true });
  const headers = [];
  for await (const entry of zip.eachEntry())
    headers.push({ directory: told(entry), local: told(await zip.readLocalFileHeaderPromise(entry)) });
  return headers;
}

export function zipOf(members: readonly Member[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const { name, content, compress = false, isStreamed = false } of members) {
    if (isStreamed) zip.addReadStream(Readable.from([Buffer.from(content)]), name, { compress });
    else zip.addBuffer(Buffer.from(content), name, { compress });
  }
  zip.end();
  return buffer(zip.outputStream);
}

export const mimetype: Member = { name: 'mimetype', content: containerType };
export const file: Member = { name: 'a', content: 'a' };

/** Texts of the same length, replaced everywhere, or only at the last place. */
function patched(container: Buffer, from: string, to: string, where: 'everywhere' | 'last' = 'everywhere'): Buffer {
  const text = container.toString('latin1');
  const at = text.lastIndexOf(from);
  const changed = where === 'everywhere' ? text.replaceAll(from, to) : text.slice(0, at) + to + text.slice(at + from.length);
  return Buffer.from(changed, 'latin1');
}

/** A number in the header of the last directory entry, and also in the local header if given. */
async function withHeader(
  token: Member,
  central: readonly [offset: number, value: number],
  local?: readonly [offset: number, value: number],
) {
  const container = await zipOf([mimetype, token, { ...file, content: 'a'.repeat(1_000), compress: true }]);
  container.writeUInt32LE(central[1], container.lastIndexOf('PK\x01\x02', undefined, 'latin1') + central[0]);
  if (local) container.writeUInt32LE(local[1], container.lastIndexOf('PK\x03\x04', undefined, 'latin1') + local[0]);
  return container;
}

/** @param token a member with a valid proof */
export function badContainers(token: Member): readonly [what: string, why: string, make: () => Promise<Uint8Array>][] {
  const containing = (...members: Member[]) => zipOf([mimetype, ...members]);
  const withSize = (bytes: number) => withHeader(token, [24, bytes], [22, bytes]);
  return [
    ['no zip', 'it is not a zip file', async () => Buffer.from('rubbish that is longer than a header of a zip file')],
    ['an empty file', 'it is not a zip file', async () => Buffer.alloc(0)],
    ['a zip that is cut off', 'it is cut off', async () => (await containing(file, token)).subarray(0, 200)],
    ['something after the end', 'something follows its end', async () => Buffer.concat([await containing(file, token), Buffer.from('x')])],
    ['another first entry', 'its first entry is not mimetype', () => zipOf([file, mimetype, token])],
    ['no mimetype', 'its first entry is not mimetype', () => zipOf([file, token])],
    ['a compressed mimetype', 'its mimetype is compressed', () => zipOf([{ ...mimetype, compress: true }, file, token])],
    ['another type', 'its mimetype names another type', () => zipOf([{ ...mimetype, content: 'application/zip' }, file, token])],
    [
      'an ASiC-E container',
      'it is an ASiC-E container',
      () => zipOf([{ ...mimetype, content: containerType.replace('asic-s', 'asic-e') }, file, token]),
    ],
    ['no token', 'it has neither META-INF/timestamp.tst nor', () => containing(file)],
    ['no file', 'it must have one file', () => containing(token)],
    ['two files', 'it must have one file', () => containing(file, { ...file, name: 'b' }, token)],
    ['a file in a folder', 'it must have one file', () => containing({ ...file, name: 'x/a' }, token)],
    ['a file twice', 'a is in it more than once', () => containing(file, file, token)],
    ['a file twice, by case', 'A is in it more than once', () => containing(file, { ...file, name: 'A' }, token)],
    [
      'a way out',
      'would be unpacked outside of it',
      async () => patched(await containing({ ...file, name: 'xx/evil' }, token), 'xx/evil', '../evil'),
    ],
    [
      'an absolute path',
      'would be unpacked outside of it',
      async () => patched(await containing({ ...file, name: 'xevil' }, token), 'xevil', '/evil'),
    ],
    [
      'another disk',
      'would be unpacked outside of it',
      async () => patched(await containing({ ...file, name: 'c.evil' }, token), 'c.evil', 'c:evil'),
    ],
    ['two names', 'has two names', async () => patched(await containing({ ...file, name: 'evil' }, token), 'evil', 'good', 'last')],
    ['two sizes', 'a has two headers that differ', () => withHeader(token, [24, 999])],
    ['two methods', 'a has two headers that differ', () => withHeader(token, [24, 1_000], [8, 0])],
    ['an encrypted file', 'a is encrypted', () => withHeader(token, [8, 0x0008_0801])],
    ['zeros', 'unpacks to far more than its packed size', () => withSize(80_000_000)],
    ['a file larger than it says', 'a does not unpack to the size that it says', () => withSize(10)],
    ['a file smaller than it says', 'a does not unpack to the size that it says', () => withSize(2_000)],
    ['a large token', 'timestamp.tst is too large', () => containing(file, { ...token, content: Buffer.alloc(3_000_000) })],
    ['many entries', 'more than 1000 entries', () => containing(...Array.from({ length: 1_001 }, (_, n) => ({ ...file, name: `${n}` })))],
  ];
}
