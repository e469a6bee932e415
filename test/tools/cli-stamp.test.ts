import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Files, folderWith, nowhere, only, sendJson, startStub, tokenId } from '../support/cli.ts';
import { sha256 } from '../support/requests.ts';

const issuedAt = '2026-01-02T03:04:05Z';
/** Every time in text for people has milliseconds. */
const shownTime = '2026-01-02T03:04:05.000Z';

const stampOf = (hash: string, tier = 'basic') => ({
  ...{ token_id: tokenId, issued_at: issuedAt, content_sha256: hash, token: 'AAAA', tier, tsp_provider: 'acme', is_qualified: true },
  verify_url: `/api/v1/verify/v1/token/${tokenId}`,
  sealed_storage_url: tier === 'sealed' ? '/api/v1/sealed/x/y' : null,
});

/** A folder with these files, and a service that stamps requests according to the interface. */
async function startStamping(files: Files = { a: 'a' }) {
  const { url, seen } = await startStub((response, { body }) => {
    const { hash, content_b64, tier } = JSON.parse(body);
    sendJson(response, 201, stampOf(hash ?? sha256(Buffer.from(content_b64, 'base64').toString()), tier));
  });
  const { run, ...folder } = folderWith(files, { url });
  return { ...folder, seen, run: (line: string, surroundings = {}) => run(line.split(' '), surroundings) };
}

const sizeAndStamp = (bytes: string) => `(${bytes}): stamped at ${shownTime} by acme (qualified, says the service), saved as`;

test('standard input is stamped, and the stamp file is named by the hash; in tier sealed it is uploaded', async () => {
  const { run, json, seen } = await startStamping();
  const saved = (content: string) => `stdin-${sha256(content).slice(0, 16)}.qstamp.json`;
  const said = { code: 0, stdout: `- ${sizeAndStamp('5 bytes')} ${saved('piped')}\n` };
  expect(await run('stamp - --metadata case=7', { stdin: 'piped' })).toMatchObject(said);
  expect(json(saved('piped'))).toMatchObject({ sha256: sha256('piped'), bytes: 5, stamp: stampOf(sha256('piped')) });
  expect((await run('stamp -', { stdin: 'piped' })).stdout).toContain('before this');
  expect((await run('stamp - --tier sealed', { stdin: 'other' })).stdout).toContain(saved('other'));
  expect(seen.map(({ body }) => JSON.parse(body))).toEqual([
    { hash: sha256('piped'), tier: 'basic', metadata: { case: '7' } },
    { hash: sha256('other'), content_b64: Buffer.from('other').toString('base64'), tier: 'sealed' },
  ]);
});

test('goes on after a file that fails and names it: exit code 5', async () => {
  const { run } = await startStamping({ a: 'a', z: 'z', 'a.qstamp.json': 'no stamp', 'folder/.hidden': '' });
  const { code, stdout, stderr } = await run('stamp a missing folder z a.qstamp.json');
  expect([code, stdout]).toEqual([5, `z ${sizeAndStamp('1 byte')} z.qstamp.json\n5 files: 1 stamped, 4 failed\n`]);
  expect(stderr.trim().split('\n').sort()).toEqual([
    'a.qstamp.json: this is already a stamp',
    'a: a.qstamp.json is damaged, or is not a stamp; use a copy, or stamp again with --force',
    'folder: no file in this folder (hidden files, links, stamps and evidence bundles do not count)',
    'missing: there is no such file',
  ]);
});

describe('a file that is already stamped', () => {
  test('keeps its stamp, without a request', async () => {
    const { run, json, seen } = await startStamping();
    await run('stamp a');
    const earlier = json('a.qstamp.json');
    const said = `a: stamped at ${shownTime}, before this; see a.qstamp.json\n`;
    expect(await run('stamp a --tier plus')).toMatchObject({ code: 0, stdout: said });
    expect([json('a.qstamp.json'), seen.length]).toEqual([earlier, 1]);
  });

  test('can be stamped sealed if only its hash was stamped: the earlier stamp file is kept, or nothing is changed', async () => {
    const { run, json, path, seen } = await startStamping();
    await run('stamp a');
    const earlier = json('a.qstamp.json');
    expect((await run('stamp a --tier sealed', { url: nowhere })).code).toBe(4);
    expect(json('a.qstamp.json')).toEqual(earlier);
    writeFileSync(path('a.basic.qstamp.json'), 'of another day');
    const blocked = 'a: the earlier stamp cannot be kept, because a.basic.qstamp.json exists\n';
    expect(await run('stamp a --tier sealed')).toMatchObject({ code: 5, stderr: blocked });
    rmSync(path('a.basic.qstamp.json'));
    expect(await run('stamp a --tier sealed')).toMatchObject({
      code: 0,
      stdout: `a ${sizeAndStamp('1 byte')} a.qstamp.json\n  the earlier stamp is kept as a.basic.qstamp.json\n`,
    });
    expect([json('a.qstamp.json').stamp, json('a.basic.qstamp.json')]).toEqual([stampOf(sha256('a'), 'sealed'), earlier]);
    expect((await run('stamp a --tier sealed')).stdout).toContain('before this');
    expect(seen).toHaveLength(2);
  });

  test.each(['', ' --tier sealed'])('exit code 5 if it has changed since then, with that time: stamp a%s', async (options) => {
    const { run, json, path } = await startStamping();
    await run('stamp a');
    writeFileSync(path('a'), 'b');
    const stderr = `a: the file has changed since it was stamped at ${shownTime} (a.qstamp.json); --force replaces that stamp\n`;
    expect(await run(`stamp a${options}`)).toMatchObject({ code: 5, stdout: '', stderr });
    expect(json('a.qstamp.json').sha256).toBe(sha256('a'));
    expect((await run(`stamp --force a${options}`)).code).toBe(0);
    expect(json('a.qstamp.json').sha256).toBe(sha256('b'));
  });
});

test('E7, E10, E11: retries after 429, 503 and 504, with the same idempotency key', async () => {
  const statuses = [429, 503, 504];
  const { url, seen } = await startStub((response, _request, attempt) => {
    const status = statuses[attempt - 1];
    if (status === undefined) sendJson(response, 201, stampOf(sha256('a')));
    else sendJson(response, status, refusal, { 'retry-after': '0' });
  });
  const { run, path } = folderWith({ a: 'a' });
  expect((await run(['stamp', 'a'], { url })).code).toBe(0);
  expect(existsSync(path('a.qstamp.json'))).toBe(true);
  expect(seen).toHaveLength(4);
  const keys = new Set(seen.map(({ headers }) => headers['idempotency-key']));
  expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
});

const refusal = { detail: 'Not now.', code: 'overloaded', request_id: 'r' };

test.each([
  ['five times 503', 503, refusal, 4, '503: Not now.', 5],
  ['a wait of an hour', 429, refusal, 4, '429: Not now.', 1, '3600'],
  ['E9: a provider that failed', 502, refusal, 4, '502: Not now.'],
  ['a wrong service token', 401, { detail: 'No valid X-Service-Token.' }, 3, '401: No valid X-Service-Token (QSTAMP_TOKEN).'],
  [
    'faults in fields',
    422,
    { detail: [{ loc: ['body', 'metadata'], msg: 'too long', type: 'value_error' }] },
    3,
    '422: metadata: too long',
  ],
  ['an answer that is none of this service', 200, 'It works!', 4, 'URL/api/v1/agent/v1/stamp/basic is not this service'],
  ['JSON of another service', 200, { status: 'ok' }, 4, 'URL is not this service'],
  ['faults of another service', 500, { detail: ['no'] }, 4, '500: the service gave no reason'],
  ['words that would command the terminal', 500, { detail: 'no\n\x1b[2Jb: stamped' }, 4, '500: no [2Jb: stamped'],
])('%s: nothing is saved', async (_name, status, body, code, said, attempts = 1, retryAfter = '0') => {
  const { url, seen } = await startStub((response) => sendJson(response, status, body, { 'retry-after': retryAfter }));
  const { run, path } = folderWith({ a: 'a' }, { url });
  const sentence = said.startsWith('URL') ? `the server at ${said.replace('URL', url)}` : `the service answered ${said}`;
  expect(await run(['stamp', 'a'])).toMatchObject({ code, stdout: '', stderr: `a: ${sentence}\n` });
  expect(seen).toHaveLength(attempts);
  expect(existsSync(path('a.qstamp.json'))).toBe(false);
});

test('the JSON of a refusal has its status, code and request', async () => {
  const { url } = await startStub((response) => sendJson(response, 413, { ...refusal, code: 'payload_too_large' }));
  expect(only(await folderWith({ a: 'a' }, { url }).run(['stamp', '--json', 'a']))).toEqual({
    file: 'a',
    error: { message: 'the service answered 413: Not now.', status: 413, code: 'payload_too_large', request_id: 'r' },
  });
});

test.each([
  ['a stamp of another hash', 5, /^a: the service stamped different content\n$/, () => stampOf(sha256('b'))],
  ['a broken connection', 4, /cannot be reached/, () => undefined],
])('%s is not saved', async (_what, code, said, answer) => {
  const { url } = await startStub((response) => (answer() ? sendJson(response, 201, answer()) : response.destroy()));
  const { run, path } = folderWith({ a: 'a' }, { url });
  expect(await run(['stamp', 'a'])).toMatchObject({ code, stderr: expect.stringMatching(said) });
  expect(existsSync(path('a.qstamp.json'))).toBe(false);
});
