import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { jsonLines, pki, runMeasured, temporaryFolder } from '../support/cli.ts';
import { sha256 } from '../support/requests.ts';

/** A zip entry that no library would write. */
interface RawEntry {
  readonly name: string;
  readonly content?: string | Buffer;
  /** This many zeros after the content; they use no disk space, and only the last entry may have them. */
  readonly zeros?: number;
  /** Both sizes are said to be 10 GB, or that of the packed file to be nothing. */
  readonly claims?: 'stored' | 'deflated';
}

/** Writes a zip file (APPNOTE.TXT §4.3) with these entries; claimed sizes are in an extra field (§4.5.3). */
function writeRawZip(path: string, entries: readonly RawEntry[]): void {
  const files: Buffer[] = [];
  const listed: Buffer[] = [];
  let at = 0;
  for (const { name, content = '', zeros = 0, claims } of entries) {
    const bytes = Buffer.from(content);
    const size = bytes.length + zeros;
    const extra = Buffer.alloc(claims ? 20 : 0);
    if (claims) {
      extra.writeUInt32LE(0x100001, 0);
      extra.writeBigUInt64LE(10_000_000_000n, 4);
      extra.writeBigUInt64LE(claims === 'stored' ? 10_000_000_000n : 0n, 12);
    }
    // Version, flags, method, time, date, CRC, both sizes, lengths of name and extra field: the same in both headers.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(45, 0);
    common.writeUInt16LE(claims === 'deflated' ? 8 : 0, 4);
    common.writeUInt16LE(33, 8);
    common.writeUInt32LE(crc32(bytes), 10);
    for (const offset of [14, 18]) common.writeUInt32LE(claims ? 0xffffffff : size, offset);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    common.writeUInt16LE(extra.length, 24);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    listed.push(Buffer.concat([Buffer.from('504b01022d00', 'hex'), common, rest, Buffer.from(name), extra]));
    files.push(Buffer.from('504b0304', 'hex'), common, Buffer.from(name), extra, bytes);
    at += 30 + Buffer.byteLength(name) + extra.length + size;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  for (const offset of [8, 10]) end.writeUInt16LE(entries.length, offset);
  end.writeUInt32LE(Buffer.concat(listed).length, 12);
  end.writeUInt32LE(at, 16);
  writeFileSync(path, Buffer.concat(files));
  truncateSync(path, at);
  writeFileSync(path, Buffer.concat([...listed, end]), { flag: 'a' });
}

const names = ['agent_commitment', 'briefing_hash', 'chain_hash', 'email_commitment', 'merkle_root'];
const record = {
  ...Object.fromEntries(names.map((name) => [name, sha256('')])),
  ...{ completed_at: '2026-11-22T10:00:00.000Z', confirmed_at: null, created_at: '2026-11-22T09:00:00.000Z' },
  ...{ format: 'qstamp-closing-record/1', output_count: 0, tier: 'standard', workflow_id: '01a202c0-9c61-7125-b2bd-9dd1c07b9678' },
};
const files: Readonly<Record<string, string>> = {
  'README.txt': 'Read me.\n',
  'verify.py': '#!/usr/bin/env python3\n',
  'closing-record.json': JSON.stringify(record, Object.keys(record).sort()),
  'root.bin': '',
  'outputs.txt': '',
  'certificates/anchors.pem': '',
  'certificates/others.pem': '',
  'certificates/revocation-lists.pem': '',
};
const sums = Object.entries(files).map(([name, content]) => `${sha256(content)}  ${name}\n`);
const bundle = Object.entries({ ...files, SHA256SUMS: sums.join('') }).map(([name, content]) => ({ name, content }));
/** A bundle without outputs and time-stamps, with these entries at its end instead of those of the same names. */
const bundleWith = (...last: readonly RawEntry[]) => [...bundle.filter(({ name }) => !last.some((one) => one.name === name)), ...last];
const containerWith = (...more: readonly RawEntry[]) => [{ name: 'mimetype', content: 'application/vnd.etsi.asic-s+zip' }, ...more];

const zeros = 300_000_000;
const proof = { name: 'META-INF/timestamp.tst', content: Buffer.from('3003020100', 'hex') };
const longNames = Array.from({ length: 100 }, (_, index) => ({ name: `${index}${'x'.repeat(60_000)}` }));

// One process for the files of a row, with its memory measured: each file takes at most as much as all of them. The first file has a process of its
// own, because what its reading leaves behind may still be there when the next file is hashed.
test.each<[kind: string, cases: readonly (readonly [says: string, entries: readonly RawEntry[]])[]]>([
  ['zip', [['outputs.txt has a line that is too long', bundleWith({ name: 'outputs.txt', zeros })]]],
  [
    'zip',
    [
      ['"verdict":"not_proved"', bundleWith()],
      ['README.txt is not the file that SHA256SUMS lists', bundleWith({ name: 'README.txt', zeros })],
      ['closing-record.json is too large', bundleWith({ name: 'closing-record.json', zeros })],
      ['root.bin is too large', bundleWith({ name: 'root.bin', zeros })],
      ['certificates/anchors.pem is too large', bundleWith({ name: 'certificates/anchors.pem', zeros })],
      ['SHA256SUMS is too large', bundleWith({ name: 'SHA256SUMS', zeros })],
      ['more.bin does not belong to a bundle', bundleWith({ name: 'more.bin', zeros })],
      ['outputs.txt is larger than the container', bundleWith({ name: 'outputs.txt', claims: 'stored' })],
      ['outputs.txt unpacks to far more than its packed size', bundleWith({ name: 'outputs.txt', claims: 'deflated' })],
      ['its list of entries is too long', bundleWith(...longNames)],
    ],
  ],
  [
    'asics',
    [
      ['its list of entries is too long', containerWith(...longNames)],
      ['is too large', containerWith({ name: 'a' }, { ...proof, zeros })],
      ['"verdict":"not_valid"', containerWith(proof, { name: 'a', zeros })],
      ['a is larger than the container', containerWith(proof, { name: 'a', claims: 'stored' })],
    ],
  ],
])('each %s file that is or claims to be huge gets a verdict in one sentence, within 200 MiB', async (kind, cases) => {
  const cwd = temporaryFolder({ 'root.pem': pki.rootPem });
  const names = cases.map((_, index) => `${index}.${kind}`);
  for (const [index, [, entries]] of cases.entries()) writeRawZip(join(cwd, names[index]!), entries);
  const { code, stdout, peakMebibytes } = await runMeasured(['verify', '--json', '--ca', 'root.pem', ...names], { cwd });
  const results = jsonLines({ stdout });
  expect([code, results.map(({ file }) => file)]).toEqual([1, names]);
  for (const [index, [says]] of cases.entries()) expect(JSON.stringify(results[index])).toContain(says);
  expect(peakMebibytes).toBeLessThan(200);
});
