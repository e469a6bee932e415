import { createHash } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readableFingerprint } from '../../src/cli/anchors.ts';
import { createPki, issueRoot, pem } from '../support/certificates.ts';
import { folderWith, jsonLines } from '../support/cli.ts';

const [one, other] = [createPki({ nowMs: Date.now() }), createPki({ nowMs: Date.now() })];
const another = issueRoot({ algorithm: 'p-256', nowMs: Date.now(), commonName: 'Another Root' });
const named = { root: another, rootPem: pem('CERTIFICATE', another.certificate) };
const fingerprintOf = (der: Buffer) => createHash('sha256').update(der).digest('hex');
const fingerprint = fingerprintOf(one.root.certificate);
const inFolder = () =>
  folderWith({
    'one.pem': one.rootPem,
    'one.der': one.root.certificate,
    'both.pem': one.rootPem + other.rootPem,
    'none.pem': 'no certificate',
  });
const kept = (listed: { readonly stdout: string }) => jsonLines(listed).map(({ sha256 }) => sha256);

test('shows subject and fingerprint, asks, and keeps the certificate after a yes', async () => {
  const { run, path } = inFolder();
  const { code, asked, stdout } = await run(['trust', 'add', 'one.pem'], { answer: 'y' });
  expect([code, stdout]).toEqual([0, 'CN=Root CA,O=qstamp development: trusted from now on\n']);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain('CN=Root CA');
  expect(asked[0]).toContain(`SHA-256 ${readableFingerprint(fingerprint)}`);
  expect(readdirSync(path('config/qstamp/anchors'))).toEqual([`${fingerprint}.pem`]);
  const { stdout: listed } = await run(['trust', 'list']);
  expect(listed).toContain(`SHA-256 ${readableFingerprint(fingerprint)}`);
});

test('shows the name of a certificate on one line, without characters that fake several lines', async () => {
  const { certificate } = issueRoot({ algorithm: 'p-256', nowMs: Date.now(), commonName: `x\u2028${' '.repeat(45)}SHA-256 00:00` });
  const { run } = folderWith({ 'x.pem': pem('CERTIFICATE', certificate) });
  const { asked, stdout } = await run(['trust', 'add', 'x.pem'], { answer: 'y' });
  for (const text of [asked[0], stdout, (await run(['trust', 'list'])).stdout]) expect(text).toMatch(/^CN=x SHA-256 00:00,O=/);
});

test.each(['n', '', 'yesterday', undefined])('the answer "%s", or no terminal, keeps nothing', async (answer) => {
  const { run } = inFolder();
  const said = answer === undefined ? expect.stringContaining('--yes') : 'qstamp: nothing was changed\n';
  expect(await run(['trust', 'add', 'one.pem'], answer === undefined ? {} : { answer })).toMatchObject({ code: 2, stderr: said });
  expect(kept(await run(['trust', 'list', '--json']))).toEqual([]);
});

test('accepts DER and PEM, several in a file, the same one twice', async () => {
  const { run } = inFolder();
  for (const file of ['one.der', 'both.pem'])
    expect(await run(['trust', 'add', '--yes', '--json', file])).toMatchObject({ code: 0, asked: [] });
  const both = [fingerprint, fingerprintOf(other.root.certificate)].sort();
  expect(kept(await run(['trust', 'list', '--json']))).toEqual(both);
});

test.each([
  ['all of it', fingerprint],
  ['as it is shown', readableFingerprint(fingerprint)],
  ['the first 8 characters', fingerprint.slice(0, 8)],
])('is forgotten by its fingerprint: %s', async (_name, given) => {
  const { run } = inFolder();
  await run(['trust', 'add', '--yes', 'both.pem']);
  expect((await run(['trust', 'remove', given])).code).toBe(0);
  expect(kept(await run(['trust', 'list', '--json']))).toEqual([fingerprintOf(other.root.certificate)]);
  expect(await run(['trust', 'remove', given])).toMatchObject({ code: 5, stderr: expect.stringContaining('no saved trust anchor') });
});

describe('a kept file that holds several certificates', () => {
  const inFolderOf = async () => {
    const folder = inFolder();
    await folder.run(['trust', 'add', '--yes', 'one.pem']);
    rmSync(folder.path(`config/qstamp/anchors/${fingerprint}.pem`));
    writeFileSync(folder.path('config/qstamp/anchors/all.pem'), one.rootPem + other.rootPem + named.rootPem);
    return folder;
  };

  test('loses only the named one', async () => {
    const { run } = await inFolderOf();
    expect((await run(['trust', 'remove', fingerprint])).code).toBe(0);
    const left = [other, named].map(({ root }) => fingerprintOf(root.certificate)).sort();
    expect(kept(await run(['trust', 'list', '--json'])).sort()).toEqual(left);
    for (const each of left) expect((await run(['trust', 'remove', each])).code).toBe(0);
    expect((await run(['trust', 'list'])).stdout).toContain('no trust anchor is saved');
  });

  test('by its subject, if no other has this subject', async () => {
    const { run } = await inFolderOf();
    const subject = 'CN=Another Root,O=qstamp development';
    expect(await run(['trust', 'remove', subject])).toMatchObject({ code: 0, stdout: `${subject}: no longer trusted\n` });
    expect(kept(await run(['trust', 'list', '--json'])).sort()).toEqual(
      [one, other].map(({ root }) => fingerprintOf(root.certificate)).sort(),
    );
    const refused = await run(['trust', 'remove', 'CN=Root CA,O=qstamp development']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(fingerprint) });
    expect(await run(['trust', 'remove', subject])).toMatchObject({ code: 5, stderr: expect.stringContaining('has the subject') });
  });
});

test('a file that is not a certificate is named: exit code 5; a broken kept file is named too', async () => {
  const { run, path } = inFolder();
  const sentence = 'none.pem: A trust anchor is neither PEM nor DER.';
  expect(await run(['trust', 'add', '--yes', 'none.pem'])).toMatchObject({ code: 5, stderr: `qstamp: ${sentence}\n` });
  await run(['trust', 'add', '--yes', 'one.pem']);
  writeFileSync(path('config/qstamp/anchors/broken.pem'), 'x');
  expect(await run(['trust', 'list'])).toMatchObject({ code: 5, stderr: expect.stringMatching(/^qstamp: \S*broken\.pem: A trust anchor/) });
});
