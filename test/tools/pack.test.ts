import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { writeContainer } from '../../src/cli/commands/pack.ts';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import { createTrustStore, verifyToken } from '../../src/shared/rfc3161/index.ts';
import { answerFor, folderWith, genTime, genTimeMs, pki, recordOf, stranger, tokenOf } from '../support/cli.ts';
import { badContainers, containerType, file, headersOf, type Member, mimetype, zipOf } from '../support/containers.ts';

async function bareToken(content: string): Promise<Buffer> {
  const trust = createTrustStore({ anchors: [pki.root.certificate] });
  const result = await verifyToken(answerFor(content), { trust, nowMs: genTimeMs });
  if (!result.ok) throw new Error(result.code);
  return Buffer.from(result.token);
}

const anchors = { 'root.pem': pki.rootPem, 'other.pem': stranger.rootPem };
const stamped = { a: 'a', 'a.qstamp.json': recordOf('a', tokenOf('a')), ...anchors };
const only = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout) as Record<string, unknown>;

const proof = await bareToken('a');
const token: Member = { name: 'META-INF/timestamp.tst', content: proof };

/** The verdict on a container as JSON. */
async function judge(container: Uint8Array, ca = 'root.pem') {
  const { run } = folderWith({ 'x.asics': container, ...anchors });
  const outcome = await run(['verify', '--json', '--ca', ca, 'x.asics']);
  return { code: outcome.code, said: only(outcome) };
}

describe('qstamp pack', () => {
  test('writes a container that verifies by itself, with the same bytes each time', async () => {
    const { run, path } = folderWith(stamped);
    expect(await run(['pack', 'a'])).toMatchObject({ code: 0, stdout: 'a: packed with its stamp as a.asics\n' });
    const container = readFileSync(path('a.asics'));
    expect(only(await run(['verify', '--json', '--ca', 'root.pem', 'a.asics']))).toMatchObject({ verdict: 'valid', issued_at: genTime });
    const again = folderWith(stamped);
    await again.run(['pack', 'a']);
    expect(readFileSync(again.path('a.asics')).equals(container)).toBe(true);
    // EN 319 162-1 A.1: mimetype first, not compressed, without an extra field, so that its content begins at octet 38.
    expect(container.toString('latin1', 30, 38 + containerType.length)).toBe(`mimetype${containerType}`);
    expect(container.readUInt16LE(28)).toBe(0);
    expect(await run(['pack', 'a'])).toMatchObject({ code: 5, stderr: 'a: a.asics already exists; nothing is packed\n' });
    expect(readFileSync(path('a.asics')).equals(container)).toBe(true);
  });

  test('other programs can unpack it: file and token are unchanged', async () => {
    const { run, path } = folderWith(stamped);
    await run(['pack', 'a']);
    const program = 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(z.namelist(), z.read("a"))';
    const { stdout } = spawnSync('python3', ['-c', program, path('a.asics')], { encoding: 'utf8' });
    expect(stdout).toBe("['mimetype', 'a', 'META-INF/timestamp.tst'] b'a'\n");
  });

  test('size and CRC-32 of each file come before it, because java.util.zip.ZipInputStream requires this for uncompressed files', async () => {
    const { run, path } = folderWith(stamped);
    await run(['pack', 'a']);
    const headers = await headersOf(readFileSync(path('a.asics')));
    expect(headers.map(({ directory }) => directory)).toMatchObject([{}, { bytes: 1, packedBytes: 1, crc32: crc32('a') }, {}]);
    for (const { local, directory } of headers) expect(local).toEqual({ ...directory, hasDescriptor: false });
  });

  test.each(['mimetype', 'a\\b', 'c:d'])('packs no file named %s, which readers of containers refuse', async (name) => {
    const { run, path } = folderWith({ [name]: 'a', [`${name}.qstamp.json`]: recordOf('a', tokenOf('a')) });
    expect(await run(['pack', name])).toMatchObject({ code: 5, stderr: expect.stringContaining('with this name') });
    expect(readdirSync(path('.'))).not.toContain(`${name}.asics`);
  });

  test('packs only the stamped file, and only with a time-stamp token', async () => {
    const { run } = folderWith({ ...stamped, a: 'changed' });
    expect((await run(['pack', 'a'])).code).toBe(1);
    const mock = folderWith({ ...stamped, 'a.qstamp.json': recordOf('a', 'cXN0YW1wLW1vY2stdG9rZW4=') });
    expect((await mock.run(['pack', 'a'])).code).toBe(1);
    expect(await run(['pack', 'missing'])).toMatchObject({ code: 5, stderr: 'missing: there is no such file\n' });
    expect(await run(['pack', '.'])).toMatchObject({ code: 5, stderr: '.: this is a folder; pack takes files\n' });
    expect((await run(['pack', '-'])).code).toBe(2);
  });
});

describe('a file that changes after it was judged', () => {
  const imprint = sha256Imprint(createHash('sha256').update('a').digest('hex'));

  test('is not packed, and no partial container is left', async () => {
    for (const now of ['b', 'ab', '']) {
      const { path } = folderWith({ a: now });
      const packed = writeContainer(path('a.asics'), { path: path('a'), imprint }, proof);
      await expect(packed).rejects.toMatchObject({ exitCode: 5, message: expect.stringContaining('changed') });
      expect(readdirSync(path('.'))).toEqual(['a']);
    }
  });

  test('or is deleted: an existing container stays unchanged', async () => {
    const { path } = folderWith({ b: 'b', 'a.asics': 'older', 'b.asics': 'older' });
    for (const [name, message] of [
      ['a', /^ENOENT/],
      ['b', /^the file already exists$/],
    ] as const) {
      await expect(writeContainer(path(`${name}.asics`), { path: path(name), imprint }, proof)).rejects.toThrow(message);
      expect(readFileSync(path(`${name}.asics`), 'utf8')).toBe('older');
    }
  });
});

describe('qstamp verify FILE.asics', () => {
  test('reads foreign containers: entries in another order, a compressed file, more in META-INF', async () => {
    const manifest: Member = { name: 'META-INF/manifest.xml', content: '<x/>' };
    const more: Member = { name: 'META-INF/timestamp002.tst', content: 'of another time' };
    const { said } = await judge(await zipOf([mimetype, token, manifest, more, { ...file, compress: true }]));
    expect(said).toMatchObject({ verdict: 'valid', not_checked: expect.arrayContaining(['META-INF/timestamp002.tst in the container']) });
    expect(JSON.stringify(said)).not.toContain('manifest.xml');
  });

  test('V9: an entry name cannot use blanks to put its end on a separate line', async () => {
    const imitation = 'contract.pdf: valid, existed at 2001';
    const blanks = ` \t\u00a0\u2028\u2029\u3000\u3164\u2800`.repeat(9);
    const name = `META-INF/x${blanks}${imitation}`;
    const zip = await zipOf([mimetype, file, token, { name, content: 'x' }]);
    expect((await judge(zip)).said.not_checked).toContain(`${name} in the container`);
    const { run } = folderWith({ 'x.asics': zip, ...anchors });
    const { stdout } = await run(['verify', '--ca', 'root.pem', 'x.asics']);
    expect(stdout).toContain(`META-INF/x ${imitation} in the container`);
  });

  test('reads containers of writers that put sizes and CRC-32 after the file', async () => {
    expect(await judge(await zipOf([mimetype, { ...file, isStreamed: true }, token]))).toMatchObject({
      code: 0,
      said: { verdict: 'valid' },
    });
  });

  test('judges the contents like separate files: another file, an unknown authority, garbage instead of a token', async () => {
    const other = await judge(await zipOf([mimetype, { ...file, content: 'b' }, token]));
    expect(other).toMatchObject({ code: 1, said: { verdict: 'not_valid', reason: expect.stringMatching(/^imprint_mismatch/) } });
    expect(await judge(await zipOf([mimetype, file, token]), 'other.pem')).toMatchObject({ code: 1, said: { verdict: 'not_proved' } });
    const rubbish = await judge(await zipOf([mimetype, file, { ...token, content: 'rubbish' }]));
    expect(rubbish).toMatchObject({ code: 1, said: { verdict: 'not_valid' } });
  });

  // The table of bad containers is judged in test/verifier/asics.test.ts.
  test.each(badContainers(token).filter(([what]) => ['no zip', 'two sizes', 'a file larger than it says'].includes(what)))(
    'refuses %s in one sentence',
    async (_what, why, make) => {
      const { code, said } = await judge(await make());
      expect(code).toBe(1);
      expect(said).toMatchObject({ error: { message: expect.stringContaining(`this is not an ASiC-S container: ${why}`) } });
    },
  );
});
