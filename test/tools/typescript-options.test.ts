import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sendJson, startStub } from '../support/cli.ts';
import { installedClient } from '../support/client-package.ts';
import { sha256 } from '../support/requests.ts';

const installed = await installedClient();
const client = await installed.load();
const hash = sha256('a');
const stamp = { token_id: 'id', content_sha256: hash, token: 'AA==' };
const refusal = (code: string) => ({ detail: 'A sentence.', code, request_id: 'request-1' });

function setEnvironment(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

test('address and token come from the environment, unless they are given', async () => {
  expect(() => new client.Qstamp()).toThrow('the address of the service is missing: give `url`, or set QSTAMP_URL');
  const stub = await startStub((response) => sendJson(response, 201, stamp));
  setEnvironment({ QSTAMP_URL: stub.url, QSTAMP_TOKEN: 'of the environment\n' });
  await new client.Qstamp().stampHash(hash);
  await new client.Qstamp({ serviceToken: 'given' }).stampHash(hash);
  await new client.Qstamp({ serviceToken: '' }).stampHash(hash);
  expect(stub.seen.map(({ headers }) => headers['x-service-token'])).toEqual(['of the environment', 'given', undefined]);
  expect(() => new client.Qstamp({ url: 'stamps.example' })).toThrow('https://');
  for (const serviceToken of ['…', 'a\nb', 'ä']) {
    expect(() => new client.Qstamp({ url: stub.url, serviceToken })).toThrow(/^the service token [^…]* has a character that no/);
  }
});

test('a call has its own time limit, number of tries and headers; the client names itself and its version', async () => {
  const silent = await startStub(() => undefined);
  const qstamp = new client.Qstamp({ url: silent.url, defaultHeaders: { 'X-Tenant': 'one', 'X-Run': 'default' } });
  const call = qstamp.stampHash(hash, { timeout: 50, maxRetries: 1, headers: { 'x-run': '7' } });
  await expect(call).rejects.toThrow('no answer within 0.05 s');
  expect(silent.seen).toHaveLength(2);
  const { version } = JSON.parse(readFileSync(join(installed.folder, 'node_modules/qstamp-client/package.json'), 'utf8'));
  expect(client.version).toBe(version);
  const sent = { 'x-tenant': 'one', 'x-run': '7', 'user-agent': `qstamp-typescript/${version}`, accept: 'application/json' };
  for (const { headers } of silent.seen) expect(headers).toMatchObject(sent);
  const workflow = {
    user_email: 'a@example.com',
    agent_id: 'a',
    briefing_hash: hash,
    timeout: 50,
    maxRetries: 0,
    headers: { 'x-run': '8' },
  };
  await expect(qstamp.startWorkflow(workflow)).rejects.toThrow(client.ServiceUnreachable);
  expect(silent.seen[2]?.headers).toMatchObject({ 'x-run': '8' });
  expect(Object.keys(JSON.parse(silent.seen[2]!.body))).toEqual(['user_email', 'agent_id', 'briefing_hash']);
});

test('an answer has its HTTP response, which JSON of the answer does not show', async () => {
  const stub = await startStub((response, { line }) =>
    sendJson(response, 201, line.includes('/stamps') ? [stamp] : stamp, { 'x-request-id': 'request-7', 'x-more': 'yes' }),
  );
  const qstamp = new client.Qstamp({ url: stub.url });
  const made = await qstamp.stampHash(hash);
  expect([made.lastResponse.status, made.lastResponse.requestId, made.lastResponse.headers.get('x-more')]).toEqual([
    201,
    'request-7',
    'yes',
  ]);
  expect(JSON.parse(JSON.stringify(made))).toEqual(stamp);
  const [outcome] = await qstamp.stampMany([hash]);
  expect(outcome?.made?.lastResponse.requestId).toBe('request-7');
});

test('onAttempt gets each try for logs, without token, content and address', async () => {
  const attempts: import('../../clients/typescript/src/index.ts').Attempt[] = [];
  const stub = await startStub((response, _request, attempt) => {
    if (attempt === 1) return void response.destroy();
    if (attempt === 2) return sendJson(response, 503, refusal('overloaded'), { 'retry-after': '0', 'x-request-id': 'request-2' });
    sendJson(response, 201, { workflow_id: 'id', workflow_token: 'secret' }, { 'x-request-id': 'request-3' });
  });
  const qstamp = new client.Qstamp({ url: stub.url, serviceToken: 'token-1', onAttempt: (each) => void attempts.push(each) });
  const run = { user_email: 'a@example.com', agent_id: 'agent-1', briefing: 'words', callback_url: 'https://a.example/?words' };
  await qstamp.startWorkflow(run);
  const same = { method: 'POST', path: '/api/v1/workflow/start', durationMs: expect.any(Number) };
  expect(attempts).toEqual([
    { ...same, attempt: 1, error: 'UND_ERR_SOCKET' },
    { ...same, attempt: 2, status: 503, requestId: 'request-2' },
    { ...same, attempt: 3, status: 201, requestId: 'request-3' },
  ]);
  attempts.length = 0;
  const aborted = qstamp.verify('id', { signal: AbortSignal.abort() });
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  // The error of `fetch` has the header, and so the token.
  const broken = new client.Qstamp({
    url: stub.url,
    defaultHeaders: { 'X-Service-Token': 'token\n1' },
    maxRetries: 0,
    onAttempt: (each) => void attempts.push(each),
  });
  await expect(broken.stampHash(hash)).rejects.toThrow(/^the header X-Service-Token has a value that cannot be sent$/);
  expect(() => new client.Qstamp({ url: 'https://user:secret@a.example' })).toThrow(/^url must not have a user or a password;(?!.*secret)/);
  expect(attempts.map(({ path, error }) => [path, error])).toEqual([['/api/v1/verify/v1/token/id', 'AbortError']]);
});

test.each([
  ['throws', () => JSON.parse('')],
  ['rejects', async () => JSON.parse('')],
])('if onAttempt %s, the call goes on', async (_how, onAttempt) => {
  const stub = await startStub((response) => sendJson(response, 201, stamp));
  const log = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => log.mockRestore());
  expect(await new client.Qstamp({ url: stub.url, onAttempt }).stampHash(hash)).toMatchObject(stamp);
  expect(log).toHaveBeenCalledExactlyOnceWith('onAttempt failed:', expect.any(SyntaxError));
});

test('403 is Forbidden and 410 is Gone, with the sentence of the service', async () => {
  const statuses = [403, 410];
  const stub = await startStub((response) => sendJson(response, statuses.shift()!, refusal('gone')));
  const qstamp = new client.Qstamp({ url: stub.url });
  await expect(qstamp.stampHash(hash)).rejects.toMatchObject({ name: 'Forbidden', message: '403: A sentence.', requestId: 'request-1' });
  await expect(qstamp.stampHash(hash)).rejects.toThrow(client.Gone);
});

test('the list of stamps is read page by page, and a stamp that a new one moves to the next page comes once', async () => {
  const ids = Array.from({ length: 1_200 }, (_, index) => String(1_200 - index).padStart(5, '0'));
  const stub = await startStub((response, { line }) => {
    const query = new URL(line.split(' ')[1]!, 'http://a').searchParams;
    const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
    const items = ids.slice(offset, offset + limit).map((token_id) => ({ token_id }));
    sendJson(response, 200, { items, total: ids.length });
    ids.unshift(`1000${stub.seen.length}`);
  });
  const qstamp = new client.Qstamp({ url: stub.url, serviceToken: 'secret' });
  const listed: string[] = [];
  for await (const { token_id } of qstamp.listStamps({ imprints: 'all' })) listed.push(token_id);
  expect(listed).toEqual(ids.slice(3));
  expect(stub.seen.map(({ line }) => line)).toEqual(
    [0, 500, 1_000].map((offset) => `GET /api/v1/internal/v1/stamps?details=true&imprints=all&limit=500&offset=${offset}`),
  );
  expect(stub.seen[2]?.headers['x-service-token']).toBe('secret');
});

test('a wait for an unknown stamp ends after its limit of time, also in the middle of a request', async () => {
  const stub = await startStub((response, _request, attempt) => {
    if (attempt === 1) sendJson(response, 200, { valid: false, reason: 'unknown_token_id: no stamp has this id' });
  });
  const qstamp = new client.Qstamp({ url: stub.url });
  await expect(qstamp.untilStamped('id', { timeout: 1_200 })).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(stub.seen).toHaveLength(2);
});
