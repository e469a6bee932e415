import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { stamp } from '../../src/cli/commands/stamp.ts';
import { folderWith, sendJson, startStub } from '../support/cli.ts';

const sha256 = (content: string) => createHash('sha256').update(content).digest('hex');
const issuedAt = '2026-01-02T03:04:05Z';
/** Every time in text for people has milliseconds. */
const shownTime = '2026-01-02T03:04:05.000Z';
const tokenId = '01890a5d-ac96-774b-bcce-b302099a8057';

const stampOf = (hash: string, tier = 'basic') => ({
  token_id: tokenId,
  issued_at: issuedAt,
  content_sha256: hash,
  token: 'AAAA',
  tier,
  tsp_provider: 'acme',
  is_qualified: true,
  verify_url: `/api/v1/verify/v1/token/${tokenId}`,
  sealed_storage_url: tier === 'sealed' ? '/api/v1/sealed/x/y' : null,
});

/** A service that stamps requests according to the interface. */
const startStamping = () =>
  startStub((response, { body }) => {
    const { hash, content_b64, tier } = JSON.parse(body);
    sendJson(response, 201, stampOf(hash ?? sha256(Buffer.from(content_b64, 'base64').toString()), tier));
  });

const sizeAndStamp = (bytes: string) => `(${bytes}): stamped at ${shownTime} by acme (qualified, says the service), saved as`;

describe('standard input', () => {
  test('is stamped, and the stamp file is named by the hash', async () => {
    const { url, seen } = await startStamping();
    const { run, json } = folderWith([stamp], {});
    const saved = `stdin-${sha256('piped').slice(0, 16)}.qstamp.json`;
    expect(await run(['stamp', '-'], { url, stdin: 'piped' })).toMatchObject({
      code: 0,
      stdout: `- ${sizeAndStamp('5 bytes')} ${saved}\n`,
    });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ hash: sha256('piped'), tier: 'basic' });
    expect(json(saved)).toMatchObject({ sha256: sha256('piped'), bytes: 5, stamp: stampOf(sha256('piped')) });
    expect((await run(['stamp', '-'], { url, stdin: 'piped' })).stdout).toContain('before this');
    expect((await run(['stamp', '-'], { url, stdin: 'other' })).stdout).toContain(`stdin-${sha256('other').slice(0, 16)}.qstamp.json`);
  });

  test('is uploaded in tier sealed', async () => {
    const { url, seen } = await startStamping();
    expect((await folderWith([stamp], {}).run(['--tier', 'sealed', 'stamp', '-'], { url, stdin: 'piped' })).code).toBe(0);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      hash: sha256('piped'),
      content_b64: Buffer.from('piped').toString('base64'),
      tier: 'sealed',
    });
  });
});

test('goes on after a file that fails and names it: exit code 5', async () => {
  const { url } = await startStamping();
  const { run, path } = folderWith([stamp], { a: 'a', z: 'z', 'a.qstamp.json': 'no stamp' });
  mkdirSync(path('folder'));
  const { code, stdout, stderr } = await run(['stamp', 'a', 'missing', 'folder', 'z', 'a.qstamp.json'], { url });
  expect([code, stdout]).toEqual([5, `z ${sizeAndStamp('1 byte')} z.qstamp.json\n5 files: 1 stamped, 4 failed\n`]);
  expect(stderr.trim().split('\n').sort()).toEqual([
    'a.qstamp.json: this is already a stamp',
    'a: a.qstamp.json is damaged, or is not a stamp; use a copy, or stamp again with --force',
    'folder: no file in this folder (hidden files, links and stamps do not count)',
    'missing: there is no such file',
  ]);
});

describe('a file that is already stamped', () => {
  test('keeps its stamp, without a request', async () => {
    const { url, seen } = await startStamping();
    const { run, json } = folderWith([stamp], { a: 'a' });
    await run(['stamp', 'a'], { url });
    const record = json('a.qstamp.json');
    const again = await run(['stamp', 'a', '--tier', 'plus'], { url });
    expect(again).toMatchObject({ code: 0, stdout: `a: stamped at ${shownTime}, before this; see a.qstamp.json\n` });
    expect(json('a.qstamp.json')).toEqual(record);
    expect(seen).toHaveLength(1);
  });

  test('can be stamped sealed if only its hash was stamped: the earlier stamp file is kept', async () => {
    const { url, seen } = await startStamping();
    const { run, json } = folderWith([stamp], { a: 'a' });
    await run(['stamp', 'a'], { url });
    const earlier = json('a.qstamp.json');
    const sealed = await run(['stamp', 'a', '--tier', 'sealed'], { url });
    expect(sealed.code).toBe(0);
    expect(sealed.stdout).toBe(`a ${sizeAndStamp('1 byte')} a.qstamp.json\n  the earlier stamp is kept as a.basic.qstamp.json\n`);
    expect(json('a.qstamp.json').stamp).toEqual(stampOf(sha256('a'), 'sealed'));
    expect(json('a.basic.qstamp.json')).toEqual(earlier);
    expect((await run(['stamp', 'a', '--tier', 'sealed'], { url })).stdout).toContain('before this');
    expect(seen).toHaveLength(2);
  });

  test('stays unchanged if the sealed stamp fails, and can be tried again', async () => {
    const { run, json, path } = folderWith([stamp], { a: 'a' });
    const { url } = await startStamping();
    await run(['stamp', 'a'], { url });
    const earlier = json('a.qstamp.json');
    expect((await run(['stamp', 'a', '--tier', 'sealed'])).code).toBe(4);
    expect(json('a.qstamp.json')).toEqual(earlier);
    expect(existsSync(path('a.basic.qstamp.json'))).toBe(false);
    expect((await run(['stamp', 'a', '--tier', 'sealed'], { url })).code).toBe(0);
    expect(json('a.basic.qstamp.json')).toEqual(earlier);
  });

  test('is not stamped sealed if another file blocks the backup of the earlier stamp: exit code 5, without a request', async () => {
    const { url, seen } = await startStamping();
    const { run, path } = folderWith([stamp], { a: 'a' });
    await run(['stamp', 'a'], { url });
    writeFileSync(path('a.basic.qstamp.json'), 'of another day');
    const refused = await run(['stamp', 'a', '--tier', 'sealed'], { url });
    expect(refused).toMatchObject({ code: 5, stderr: 'a: the earlier stamp cannot be kept, because a.basic.qstamp.json exists\n' });
    expect(seen).toHaveLength(1);
  });

  test.each([[], ['--tier', 'sealed']])(
    'exit code 5 if the file has changed since it was stamped, with that time (options: %s %s)',
    async (...options) => {
      const { url } = await startStamping();
      const { run, json, path } = folderWith([stamp], { a: 'a' });
      await run(['stamp', 'a'], { url });
      writeFileSync(path('a'), 'b');
      const refused = await run(['stamp', 'a', ...options], { url });
      expect(refused).toMatchObject({
        code: 5,
        stdout: '',
        stderr: `a: the file has changed since it was stamped at ${shownTime} (a.qstamp.json); --force replaces that stamp\n`,
      });
      expect(json('a.qstamp.json').sha256).toBe(sha256('a'));
      expect((await run(['stamp', '--force', 'a', ...options], { url })).code).toBe(0);
      expect(json('a.qstamp.json').sha256).toBe(sha256('b'));
    },
  );
});

test('E7, E10, E11: retries after 429, 503 and 504, with the same idempotency key', async () => {
  const statuses = [429, 503, 504];
  const { url, seen } = await startStub((response, _request, attempt) => {
    const status = statuses[attempt - 1];
    if (status === undefined) sendJson(response, 201, stampOf(sha256('a')));
    else sendJson(response, status, refusal, { 'retry-after': '0' });
  });
  const { run, path } = folderWith([stamp], { a: 'a' });
  expect((await run(['stamp', 'a'], { url })).code).toBe(0);
  expect(existsSync(path('a.qstamp.json'))).toBe(true);
  expect(seen).toHaveLength(4);
  const keys = new Set(seen.map(({ headers }) => headers['idempotency-key']));
  expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
});

const refusal = { detail: 'Not now.', code: 'overloaded', request_id: 'r' };

test.each([
  ['five times 503', 503, refusal, '0', 5, 'the service answered 503: Not now.'],
  ['a wait of an hour', 429, refusal, '3600', 1, 'the service answered 429: Not now.'],
  ['E9: a provider that failed', 502, refusal, '0', 1, 'the service answered 502: Not now.'],
  ['an answer that is none of this service', 200, 'It works!', '0', 1, 'the server at URL/api/v1/agent/v1/stamp/basic is not this service'],
  ['JSON of another service', 200, { status: 'ok' }, '0', 1, 'the server at URL is not this service'],
  ['faults of another service', 500, { detail: ['no'] }, '0', 1, 'the service answered 500: the service gave no reason'],
  ['words that would command the terminal', 500, { detail: 'no\n\x1b[2Jb: stamped' }, '0', 1, 'the service answered 500: no [2Jb: stamped'],
])('%s gives exit code 4, and nothing is saved', async (_name, status, body, retryAfter, attempts, sentence) => {
  const { url, seen } = await startStub((response) => sendJson(response, status, body, { 'retry-after': retryAfter }));
  const { run, path } = folderWith([stamp], { a: 'a' });
  expect(await run(['stamp', 'a'], { url })).toMatchObject({ code: 4, stdout: '', stderr: `a: ${sentence.replace('URL', url)}\n` });
  expect(seen).toHaveLength(attempts);
  expect(existsSync(path('a.qstamp.json'))).toBe(false);
});

test('a stamp of another hash is not saved: exit code 5', async () => {
  const { url } = await startStub((response) => sendJson(response, 201, stampOf(sha256('b'))));
  const { run, path } = folderWith([stamp], { a: 'a' });
  expect(await run(['stamp', 'a'], { url })).toMatchObject({ code: 5, stderr: 'a: the service stamped different content\n' });
  expect(existsSync(path('a.qstamp.json'))).toBe(false);
});

test('a broken connection gives exit code 4', async () => {
  const { url } = await startStub((response) => response.destroy());
  expect(await folderWith([stamp], { a: 'a' }).run(['stamp', 'a'], { url })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('cannot be reached'),
  });
});
