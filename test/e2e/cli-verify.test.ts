import { renameSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { commandInFolder, jsonLines } from '../support/command.ts';
import { sha256, stampInternal } from '../support/requests.ts';
import { type Service, startService } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

// Each test starts many processes.
vi.setConfig({ testTimeout: 120_000 });

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true });
});
afterAll(() => service.stop());
const inFolder = (files: Record<string, string>) => commandInFolder(service, files);

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
  const { run, path, record } = commandInFolder(qualified, { a: 'a' });
  expect((await run(['stamp', 'a'])).stdout).toMatch(/^a: stamped at \S+Z by tsa-1 \(qualified\), saved as /);
  const { token, token_id, issued_at } = record('a').stamp;
  const outcome = await run(['verify', '--json', 'a', String(token_id), String(token)]);
  expect(outcome.code).toBe(0);
  for (const result of jsonLines(outcome)) expect(result).toMatchObject({ valid: true, issued_at, token_id, is_qualified: true });
  writeFileSync(path('a'), 'b');
  expect(await run(['verify', 'a'])).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT VALID, imprint_mismatch: ') });
});
