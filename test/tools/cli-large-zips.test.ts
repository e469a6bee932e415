import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPki } from '../../src/tsa/pki.ts';
import { jsonLines, runMeasured, temporaryFolder } from '../support/cli.ts';
import { type RawEntry, writeRawZip } from '../support/raw-zip.ts';

const hash = (content: string): string => createHash('sha256').update(content).digest('hex');
const ofNothing = hash('');
const record = JSON.stringify({
  agent_commitment: ofNothing,
  briefing_hash: ofNothing,
  chain_hash: ofNothing,
  completed_at: '2026-11-22T10:00:00.000Z',
  confirmed_at: null,
  created_at: '2026-11-22T09:00:00.000Z',
  email_commitment: ofNothing,
  format: 'qstamp-closing-record/1',
  merkle_root: ofNothing,
  output_count: 0,
  tier: 'standard',
  workflow_id: '01a202c0-9c61-7125-b2bd-9dd1c07b9678',
});

/** A bundle without outputs and time-stamps; `bent` replaces the entry of its name, or comes last. */
function bundleWith(...bent: readonly RawEntry[]): RawEntry[] {
  const files = {
    'README.txt': 'Read me.\n',
    'verify.py': '#!/usr/bin/env python3\n',
    'closing-record.json': record,
    'root.bin': '',
    'outputs.txt': '',
    'certificates/anchors.pem': '',
    'certificates/others.pem': '',
    'certificates/revocation-lists.pem': '',
  };
  const sums = Object.entries(files).map(([name, content]) => `${hash(content)}  ${name}\n`);
  const good = Object.entries({ ...files, SHA256SUMS: sums.join('') });
  const entries = good.map(([name, content]): RawEntry => ({ name, content: Buffer.from(content) }));
  return [
    ...entries.map((entry) => bent.find(({ name }) => name === entry.name) ?? entry),
    ...bent.filter(({ name }) => !good.some(([known]) => known === name)),
  ];
}

const containerWith = (...more: readonly RawEntry[]): RawEntry[] => [
  { name: 'mimetype', content: Buffer.from('application/vnd.etsi.asic-s+zip') },
  ...more,
];

const nothing = Buffer.alloc(0);
const zeros = 300_000_000;
const claims = { packed: 10_000_000_000, unpacked: 10_000_000_000 };
const proof = { name: 'META-INF/timestamp.tst', content: Buffer.from('3003020100', 'hex') };
const longNames = Array.from({ length: 100 }, (_, index) => ({ name: `${index}${'x'.repeat(60_000)}`, content: nothing }));

/** In a process of its own, because what its reading leaves behind may still be there when the next file is hashed. */
const longLine: readonly (readonly [says: string, entries: readonly RawEntry[]])[] = [
  ['outputs.txt has a line that is too long', bundleWith({ name: 'outputs.txt', content: nothing, zeros })],
];
const bundles: typeof longLine = [
  ['"verdict":"not_proved"', bundleWith()],
  // 300 MB of zeros in each other place of a bundle.
  ...[
    ['README.txt', 'README.txt is not the file that SHA256SUMS lists'],
    ['closing-record.json', 'closing-record.json is too large'],
    ['root.bin', 'root.bin is too large'],
    ['certificates/anchors.pem', 'certificates/anchors.pem is too large'],
    ['SHA256SUMS', 'SHA256SUMS is too large'],
    ['more.bin', 'more.bin does not belong to a bundle'],
  ].map(([name = '', says = '']) => [says, bundleWith({ name, content: nothing, zeros })] as const),
  ['outputs.txt is larger than the container', bundleWith({ name: 'outputs.txt', content: nothing, claims })],
  [
    'outputs.txt unpacks to far more than its packed size',
    bundleWith({ name: 'outputs.txt', content: nothing, claims: { ...claims, packed: 0 }, isDeflated: true }),
  ],
  ['its list of entries is too long', bundleWith(...longNames)],
];
const containers: typeof longLine = [
  ['its list of entries is too long', containerWith(...longNames)],
  ['is too large', containerWith({ name: 'a', content: nothing }, { ...proof, zeros })],
  ['"verdict":"not_valid"', containerWith({ name: 'a', content: nothing, zeros }, proof)],
  ['a is larger than the container', containerWith({ name: 'a', content: nothing, claims }, proof)],
];

// One process for the files of a row, with its memory measured: each file takes at most as much as all of them.
test.each([
  ['zip', longLine],
  ['zip', bundles],
  ['asics', containers],
])('each %s file that is or claims to be huge gets a verdict in one sentence, within 200 MiB', async (kind, cases) => {
  const cwd = temporaryFolder();
  const names = cases.map(([, entries], index) => {
    const name = `${index}.${kind}`;
    writeRawZip(join(cwd, name), entries);
    return name;
  });
  writeFileSync(join(cwd, 'root.pem'), createPki({ nowMs: Date.now() }).rootPem);
  const { code, stdout, peakMebibytes } = await runMeasured(['verify', '--json', '--ca', 'root.pem', ...names], { cwd });
  const results = jsonLines({ stdout });
  expect(results.map(({ subject }) => subject)).toEqual(names);
  for (const [index, [says]] of cases.entries()) expect(JSON.stringify(results[index])).toContain(says);
  expect(code).toBe(1);
  expect(peakMebibytes).toBeLessThan(200);
});
