import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { jsonLines, runCommand, temporaryFolder } from '../support/command.ts';
import { getJson, internalHeaders, sha256, stampInternal, verifyById } from '../support/requests.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

// Each test starts many processes.
vi.setConfig({ testTimeout: 120_000 });

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true, settings: { SEALED_MAX_BYTES: '100000' } });
});
afterAll(() => service.stop());

/** The command in a folder with these files, as the product `test`. */
function inFolder(files: Record<string, string>, { url } = service) {
  const cwd = temporaryFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runCommand(args, { cwd, env: { QSTAMP_URL: url, QSTAMP_SERVICE_TOKEN: serviceToken, ...env } });
  const path = (name: string) => join(cwd, name);
  const read = (name: string) => readFileSync(path(name), 'utf8');
  const record = (name: string) => JSON.parse(read(`${name}.qstamp.json`)) as { stamp: Record<string, unknown> };
  return { run, path, read, record };
}

async function unusedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

describe('qstamp stamp', () => {
  test('stamps a file for the product of the token and saves the stamp beside it', async () => {
    const { run, record } = inFolder({ 'contract.pdf': 'signed' });
    const { code, stdout, stderr } = await run(['stamp', 'contract.pdf']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^contract\.pdf: stamped at \S+Z by mock \(not qualified\), saved as contract\.pdf\.qstamp\.json\n$/);
    const { stamp } = record('contract.pdf');
    expect(record('contract.pdf')).toEqual({
      qstamp: 1,
      kind: 'stamp',
      file: 'contract.pdf',
      bytes: 6,
      sha256: sha256('signed'),
      service: service.url,
      stamp: expect.objectContaining({ content_sha256: sha256('signed'), tier: 'basic' }),
    });
    const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders);
    expect(body.items).toEqual([expect.objectContaining({ token_id: stamp.token_id })]);
  });

  test('stamps many files, each with a result of its own, and gives one JSON line for each with --json', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `file ${index}.txt`);
    const { run, record } = inFolder(Object.fromEntries(names.map((name) => [name, name])));
    const outcome = await run(['stamp', '--json', '--tier', 'plus', '--metadata', 'case=7', ...names]);
    expect(outcome.code).toBe(0);
    const results = jsonLines(outcome);
    expect(results.map(({ file }) => file).sort()).toEqual([...names].sort());
    for (const name of names) expect(record(name).stamp).toMatchObject({ content_sha256: sha256(name), tier: 'plus' });
  });

  test('without a service token stamps as an agent', async () => {
    const { run, record } = inFolder({ a: 'a' });
    const before = (await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders)).body.total;
    expect((await run(['stamp', 'a'], { QSTAMP_SERVICE_TOKEN: '' })).code).toBe(0);
    expect((await verifyById(service, record('a').stamp.token_id)).body.valid).toBe(true);
    expect((await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders)).body.total).toBe(before);
  });

  test('in tier sealed uploads the content', async () => {
    const { run, record } = inFolder({ a: 'the content', empty: '' });
    expect((await run(['stamp', '--tier=sealed', 'a', 'empty'])).code).toBe(0);
    expect(await (await service.fetch(String(record('a').stamp.sealed_storage_url))).text()).toBe('the content');
    expect(await (await service.fetch(String(record('empty').stamp.sealed_storage_url))).text()).toBe('');
  });

  test('keeps the older stamp of the same content, refuses that of another, and replaces with --force', async () => {
    const { run, path, read, record } = inFolder({ a: 'first' });
    await run(['stamp', 'a']);
    const first = read('a.qstamp.json');
    const again = await run(['stamp', 'a']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('stamped before at')]);
    writeFileSync(path('a'), 'second');
    const refused = await run(['stamp', 'a']);
    expect([refused.code, refused.stdout]).toEqual([5, '']);
    expect(refused.stderr).toMatch(/^a: .*another content.*--force/);
    expect(read('a.qstamp.json')).toBe(first);
    expect((await run(['stamp', '--force', 'a'])).code).toBe(0);
    expect(record('a').stamp.content_sha256).toBe(sha256('second'));
  });

  test('goes on behind a file that fails, and says which did', async () => {
    const { run, path } = inFolder({ a: 'a', z: 'z', 'a.qstamp.json': 'no stamp' });
    mkdirSync(path('folder'));
    const { code, stdout, stderr } = await run(['stamp', 'a', 'missing', 'folder', 'z', 'a.qstamp.json']);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^z: stamped at/);
    expect(stderr.trim().split('\n').sort()).toEqual([
      'a.qstamp.json: this is a stamp already',
      'a: a.qstamp.json is no stamp that this command saved',
      'folder: this is a directory',
      'missing: there is no such file',
    ]);
  });

  test('exits 3 with the words of the service when it refuses', async () => {
    const { run } = inFolder({ a: 'a', large: 'x'.repeat(100_001) });
    const unauthorized = await run(['stamp', 'a'], { QSTAMP_SERVICE_TOKEN: 'nobody' });
    expect([unauthorized.code, unauthorized.stderr]).toEqual([3, expect.stringMatching(/^a: the service answered 401: .*X-Service-Token/)]);
    const tooLarge = await run(['stamp', '--json', '--tier', 'sealed', 'large']);
    expect(tooLarge.code).toBe(3);
    expect(jsonLines(tooLarge)).toEqual([
      {
        subject: 'large',
        error: { message: expect.stringContaining('413'), status: 413, code: 'payload_too_large', request_id: expect.any(String) },
      },
    ]);
    const manyWords = await run(['stamp', '--metadata', `a=${'x'.repeat(5000)}`, 'a']);
    expect([manyWords.code, manyWords.stderr]).toEqual([3, expect.stringMatching(/422: metadata: .*4096 bytes/)]);
  });

  test('exits 4 when nobody answers', async () => {
    const { run } = inFolder({ a: 'a' });
    const { code, stderr } = await run(['stamp', 'a'], { QSTAMP_URL: await unusedUrl() });
    expect([code, stderr]).toEqual([4, expect.stringMatching(/^a: http:\S+ cannot be reached \(ECONNREFUSED\)/)]);
  });
});

describe('qstamp verify', () => {
  test('verifies a file by the stamp beside it, the stamp by itself, its id and its token', async () => {
    const { run, record } = inFolder({ a: 'a' });
    await run(['stamp', 'a']);
    const { token, token_id, issued_at } = record('a').stamp;
    const subjects = ['a', 'a.qstamp.json', String(token_id), String(token_id).replaceAll('-', '').toUpperCase(), String(token)];
    const outcome = await run(['verify', '--json', ...subjects]);
    expect(outcome.code).toBe(0);
    expect(jsonLines(outcome)).toEqual(
      subjects.map((subject) => expect.objectContaining({ subject, valid: true, token_id, issued_at, content_sha256: sha256('a') })),
    );
    const { stdout } = await run(['verify', 'a']);
    expect(stdout).toBe(`a: valid, existed at ${issued_at} (mock, not qualified)\n`);
  });

  test('a file that has changed is not valid: 1', async () => {
    const { run, path } = inFolder({ a: 'a' });
    await run(['stamp', 'a']);
    writeFileSync(path('a'), 'b');
    const { code, stdout } = await run(['verify', 'a']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, imprint_mismatch: \S/)]);
  });

  test('believes nothing that the record says: a hash or a time put there by hand changes nothing', async () => {
    const { run, path, record } = inFolder({ a: 'a' });
    await run(['stamp', 'a']);
    const { issued_at } = record('a').stamp;
    writeFileSync(path('a'), 'forged');
    const forged = {
      ...record('a'),
      sha256: sha256('forged'),
      stamp: { ...record('a').stamp, content_sha256: sha256('forged'), issued_at: '2001-01-01T00:00:00.000Z' },
    };
    writeFileSync(path('a.qstamp.json'), JSON.stringify(forged));
    expect((await run(['verify', 'a'])).code).toBe(1);
    writeFileSync(path('a'), 'a');
    expect((await run(['verify', 'a'])).stdout).toContain(`existed at ${issued_at} `);
  });

  test('a file and its stamp verify wherever they are moved to', async () => {
    const { run, path } = inFolder({ a: 'a' });
    await run(['stamp', 'a']);
    renameSync(path('a'), path('b'));
    renameSync(path('a.qstamp.json'), path('b.qstamp.json'));
    expect((await run(['verify', 'b'])).code).toBe(0);
  });

  test('an id that nobody issued and a token that is none are not valid: 1, with the reason', async () => {
    const { run } = inFolder({});
    const outcome = await run(['verify', '--json', '01890a5d-ac96-774b-bcce-b302099a8057', 'A'.repeat(80)]);
    expect(outcome.code).toBe(1);
    for (const result of jsonLines(outcome)) expect(result).toMatchObject({ valid: false, reason: expect.stringMatching(/^[a-z0-9_]+: /) });
  });

  test('what is no file, id or token, and a file without a stamp: 5; not valid counts more', async () => {
    const { run } = inFolder({ a: 'a' });
    expect(await run(['verify', 'a'])).toMatchObject({ code: 5, stderr: 'a: there is no stamp beside it (a.qstamp.json)\n' });
    expect(await run(['verify', 'missing.pdf'])).toMatchObject({ code: 5, stderr: expect.stringContaining('no such file') });
    expect((await run(['verify', 'missing.pdf', '01890a5d-ac96-774b-bcce-b302099a8057'])).code).toBe(1);
  });

  test('a stamp of the API verifies by its id', async () => {
    const { body } = await stampInternal(service, { hash: sha256('x') });
    const { code, stdout } = await inFolder({}).run(['verify', String(body.token_id)]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`existed at ${body.issued_at}`)]);
  });
});

test('stamps of a real TSA are called qualified where they are, and verify from the file, the id and the token', async () => {
  const tsa = await startTsa();
  const qualified = await startService({ settings: providersSettings([{ tsa, qualified: true }]) });
  const { run, path, record } = inFolder({ a: 'a' }, qualified);
  expect((await run(['stamp', 'a'])).stdout).toMatch(/^a: stamped at \S+Z by tsa-1 \(qualified\), saved as /);
  const { token, token_id, issued_at } = record('a').stamp;
  const outcome = await run(['verify', '--json', 'a', String(token_id), String(token)]);
  expect(outcome.code).toBe(0);
  for (const result of jsonLines(outcome)) expect(result).toMatchObject({ valid: true, issued_at, token_id, is_qualified: true });
  writeFileSync(path('a'), 'b');
  expect(await run(['verify', 'a'])).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT VALID, imprint_mismatch: ') });
});

describe('the command line', () => {
  test('--help shows the commands, the environment and the exit codes; --version the version', async () => {
    const { run } = inFolder({});
    for (const args of [['--help'], ['stamp', '--help'], ['-h'], []]) {
      const { code, stdout } = await run(args);
      expect(code).toBe(0);
      expect(stdout).toMatch(/qstamp stamp[\s\S]*qstamp verify[\s\S]*qstamp workflow start[\s\S]*QSTAMP_URL[\s\S]*Exit codes/);
    }
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.each([
    ['stamp'],
    ['verify'],
    ['destroy'],
    ['workflow'],
    ['workflow', 'undo'],
    ['stamp', '--gold', 'a'],
    ['stamp', '--tier', 'gold', 'a'],
    ['stamp', '--metadata', 'novalue', 'a'],
    ['workflow', 'start', '--agent', 'me'],
    ['workflow', 'start', '--email', 'a@example.com', '--agent', 'me'],
    ['workflow', 'complete', 'extra'],
  ])('%s %s %s %s %s is not understood: 2, in one line', async (...args) => {
    const { code, stdout, stderr } = await inFolder({ a: 'a' }).run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^qstamp: .*\(see qstamp --help\)\n$/);
  });

  test('an address that is none: 2', async () => {
    expect((await inFolder({ a: 'a' }).run(['stamp', 'a'], { QSTAMP_URL: 'localhost:8080' })).code).toBe(2);
  });
});

test('a large file is hashed in constant memory', async () => {
  const cwd = temporaryFolder();
  const largeBytes = 1024 ** 3;
  for (const name of ['large', 'small']) writeFileSync(join(cwd, name), '');
  truncateSync(join(cwd, 'large'), largeBytes);

  const peakOf = async (name: string) => {
    const script = `process.on('exit', () => require('node:fs').writeFileSync('${name}.peak', String(process.resourceUsage().maxRSS)));`;
    writeFileSync(join(cwd, 'peak.cjs'), script);
    const env = { QSTAMP_URL: service.url, NODE_OPTIONS: `--require ${join(cwd, 'peak.cjs')}` };
    expect((await runCommand(['stamp', name], { cwd, env })).code).toBe(0);
    return Number(readFileSync(join(cwd, `${name}.peak`), 'utf8')) * 1024;
  };

  const [small, large] = [await peakOf('small'), await peakOf('large')];
  expect(existsSync(join(cwd, 'large.qstamp.json'))).toBe(true);
  expect(large - small).toBeLessThan(64 * 1024 ** 2);
});
