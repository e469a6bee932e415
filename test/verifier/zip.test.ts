import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ZipFile } from 'yazl';
import { inflate } from '../../src/cli/container.ts';
import { openZip } from '../../src/shared/proof/zip.js';
import { blobSource, type ZipSource } from '../../src/shared/proof/zip-source.js';

const open = (zip: Uint8Array) => openZip(blobSource(new Blob([new Uint8Array(zip)])), { inflate, mostEntries: 10 });
const end = (zip: Buffer) => zip.lastIndexOf('PK\x05\x06', undefined, 'latin1');
const local = (zip: Buffer) => zip.indexOf('PK\x03\x04', 0, 'latin1');
const listed = (zip: Buffer) => zip.indexOf('PK\x01\x02', 0, 'latin1');

async function zipOf(forceZip64Format: boolean, content = 'a'.repeat(1_000)): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(content), 'a', { forceZip64Format });
  zip.addBuffer(Buffer.from('b'), 'b', { compress: false, forceZip64Format });
  zip.end({ forceZip64Format, comment: '' });
  return buffer(zip.outputStream);
}

async function readAll(zip: Uint8Array): Promise<string[]> {
  const { entries, readSmall } = await open(zip);
  return Promise.all([...entries.values()].map(async (entry) => Buffer.from(await readSmall(entry, 2_000)).toString()));
}

/** What reading says about a zip file with a change in one place: the files, or the error. */
function said(zip: Buffer, bend: (zip: Buffer) => void): Promise<string> {
  const copy = Buffer.from(zip);
  bend(copy);
  return readAll(copy).then(String, (error: Error & { code?: string }) => `${error.name} ${error.code}: ${error.message}`);
}

describe.each([false, true])('zip files, in the format for more than 4 GB: %s', (isLarge) => {
  test.each<[what: string, why: string, bend: (zip: Buffer) => void]>([
    ['nothing changed', '', () => undefined],
    ['a part of several', 'only a part of a zip file', (zip) => zip.writeUInt16LE(1, end(zip) + 4)],
    ['another number of entries', 'damaged|part', (zip) => zip.writeUInt16LE(1, end(zip) + 10)],
    ['a directory that begins elsewhere', 'damaged', (zip) => zip.writeUInt32LE(listed(zip) - 1, end(zip) + 16)],
    ['entries that overlap', 'overlap|damaged', (zip) => zip.writeUInt32LE(5, zip.lastIndexOf('PK\x01\x02', undefined, 'latin1') + 42)],
    ['encryption before the file only', 'a is encrypted', (zip) => zip.writeUInt16LE(1, local(zip) + 6)],
    ['another size before the file', 'two headers that differ', (zip) => zip.writeUInt32LE(7, local(zip) + 22)],
    ['a compression method that is not allowed', 'compression method', (zip) => zip.writeUInt16LE(12, listed(zip) + 10)],
    ['damaged octets', 'a is damaged|does not unpack', (zip) => zip.fill(0xff, local(zip) + 35, local(zip) + 39)],
  ])('are read or refused with %s', async (_what, why, bend) => {
    const wanted = why === '' ? `^${'a'.repeat(1_000)},b$` : `^Error .*(${why})`;
    expect(await said(await zipOf(isLarge), bend)).toMatch(new RegExp(wanted));
  });
});

test('both end records of a large zip file must name the same directory', async () => {
  const zip = await zipOf(true);
  const [record, locator] = ['PK\x06\x06', 'PK\x06\x07'].map((mark) => zip.indexOf(mark, 0, 'latin1')) as [number, number];
  for (const at of [record + 4, record + 40, record + 48, locator + 8])
    expect(await said(zip, (copy) => copy.writeUInt8(0, at)), `octet ${at}`).toMatch(/^Error zip_malformed/);
  expect(await said(zip, (copy) => copy.writeUInt8(1, record + 24))).toMatch(/^Error zip_malformed/);
});

test('a byte order mark in a name stays, so that it is not the name without it', async () => {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from('a'), '\uFEFFa');
  zip.end();
  expect([...(await open(await buffer(zip.outputStream))).entries.keys()]).toEqual(['\uFEFFa']);
});

test('octets after the last block of a packed file are refused, because other readers may show them', async () => {
  const packed = deflateRawSync(Buffer.from('a'));
  const read = async (...pieces: Buffer[]) => Buffer.concat(await Array.fromAsync(inflate(Readable.from(pieces)))).toString();
  expect(await read(packed)).toBe('a');
  for (const pieces of [[packed, Buffer.from('x')], [Buffer.concat([packed, Buffer.from('x')])], [packed.subarray(0, 1)]])
    await expect(read(...pieces)).rejects.toThrow();
});

test('errors of the source are passed on unchanged', async () => {
  const zip = await zipOf(false);
  const good = blobSource(new Blob([new Uint8Array(zip)]));
  let isBroken = false;
  const gone = new RangeError('the disk is gone');
  // The header of an entry is still readable, the rest is not.
  const source: ZipSource = { size: good.size, read: (at, length) => (isBroken && at > 30 ? Promise.reject(gone) : good.read(at, length)) };
  const { entries, readSmall } = await openZip(source, { inflate, mostEntries: 10 });
  isBroken = true;
  await expect(readSmall(entries.get('a')!, 2_000)).rejects.toBe(gone);
});
