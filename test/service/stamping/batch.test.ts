import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { idleService } from '../../support/idle-service.ts';
import { answerOn, postHead } from '../../support/raw-http.ts';
import {
  eventually,
  getJson,
  type JsonObject,
  listStampIds,
  postJson,
  randomHash,
  stampInternal,
  verifyById,
} from '../../support/requests.ts';
import { addWorker, ownProduct, type RunningService, sharedService, startService } from '../../support/service.ts';

const service = await sharedService();
const { headers: internalHeaders } = ownProduct();

const path = '/api/v1/internal/v1/stamps?details=true';
const hashes = (count: number) => Array.from({ length: count }, randomHash);
const ofHashes = (given: readonly string[]) => given.map((hash) => ({ hash }));
const linesOf = (items: readonly object[]) => items.map((item) => JSON.stringify(item)).join('\n');

async function stampMany(items: unknown, headers: Record<string, string> = {}, at: RunningService = service) {
  const { status, headers: answered, body } = await postJson(at, path, items, { ...internalHeaders, ...headers });
  return { status, headers: answered, items: body as unknown as JsonObject[] };
}

async function postLines(lines: string, headers: Record<string, string> = {}) {
  const init = { method: 'POST', headers: { 'content-type': 'application/x-ndjson', ...internalHeaders, ...headers }, body: lines };
  const answer = await service.fetch(path, init);
  const text = await answer.text();
  const items = () =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject);
  return { status: answer.status, headers: answer.headers, text, items };
}

describe('L1: many hashes in one request', () => {
  test('an array gives an array of stamps in the same order, each valid and listed', async () => {
    const given = hashes(150);
    const { status, headers, items } = await stampMany(ofHashes(given));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(items.map(({ content_sha256 }) => content_sha256)).toEqual(given);
    const ids = items.map(({ token_id }) => String(token_id));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).isSubsetOf(new Set(await listStampIds(service, internalHeaders)))).toBe(true);
    for (const id of [ids[0], ids[77], ids[149]]) expect((await verifyById(service, id)).body).toMatchObject({ valid: true, token_id: id });
  });

  test('agents stamp many without a token; one bad item among 1 000 fails alone, under its index', async () => {
    const stampsOfAgents = async () => {
      const { body: rows } = await getJson(service, '/api/v1/internal/stats/daily?days=1', internalHeaders);
      return Number((rows as unknown as JsonObject[]).find(({ caller_kind }) => caller_kind === 'agent')?.stamps ?? 0);
    };
    const before = await stampsOfAgents();
    const given = hashes(1_000).with(417, 'no hash');
    const { status, body } = await postJson(service, '/api/v1/agent/v1/stamps', ofHashes(given), { 'x-payment-transaction': 'claim' });
    const items = body as unknown as JsonObject[];
    expect(status).toBe(200);
    expect(items.map(({ content_sha256 }) => content_sha256)).toEqual(given.map((hash, index) => (index === 417 ? undefined : hash)));
    expect(items[417]).toEqual({
      index: 417,
      status: 422,
      code: 'validation_failed',
      detail: [expect.objectContaining({ type: 'string_too_short', loc: ['body', 417, 'hash'], input: 'no hash' })],
      request_id: expect.any(String),
    });
    await eventually(async () => (await stampsOfAgents()) >= before + 999);
  });

  test.each([
    ['null', null, 'model_attributes_type', []],
    ['a text', 'a', 'model_attributes_type', []],
    ['no hash', {}, 'value_error', []],
    ['content', { content_b64: '', tier: 'sealed' }, 'value_error', []],
    ['an unknown tier', { hash: randomHash(), tier: 'gold' }, 'enum', ['tier']],
    ['upper case', { hash: randomHash().toUpperCase() }, 'string_pattern_mismatch', ['hash']],
  ])('an item that is or has %s is refused alone', async (_what, item, type, place) => {
    const { status, items } = await stampMany([item, { hash: randomHash(), tier: 'sealed' }]);
    expect(status).toBe(200);
    expect(items[0]).toMatchObject({ index: 0, status: 422, detail: [{ type, loc: ['body', 0, ...place] }] });
    expect(items[1]).toMatchObject({ tier: 'sealed', sealed_storage_url: null });
  });

  test.each([
    ['an empty list', [], 'too_short', { field_type: 'List', min_length: 1, actual_length: 0 }],
    ['1 001 items', ofHashes(Array(1_001).fill('x')), 'too_long', { field_type: 'List', max_length: 1_000, actual_length: 1_001 }],
    ['no list', { hash: randomHash() }, 'list_type', undefined],
    ['items of two tiers', [{ hash: randomHash() }, { hash: randomHash(), tier: 'plus' }], 'value_error', { error: {} }],
  ])('%s is 422 as a whole', async (_what, body, type, ctx) => {
    const { status, items } = await stampMany(body);
    expect(status).toBe(422);
    expect(items).toEqual({
      detail: [
        { type, loc: ['body'], msg: expect.any(String), input: type === 'value_error' ? null : expect.anything(), ...(ctx && { ctx }) },
      ],
    });
  });

  test('E4, E8: without a token it is 401; a body of 10 MiB is 413, one that is not declared as JSON or lines 422', async () => {
    expect((await postJson(service, path, ofHashes(hashes(2)))).status).toBe(401);
    const headers = { ...internalHeaders, 'content-type': 'application/json' };
    const large = await service.fetch(path, { method: 'POST', headers, body: `[${' '.repeat(10 * 1024 * 1024)}]` });
    expect([large.status, await large.json()]).toEqual([413, expect.objectContaining({ code: 'payload_too_large' })]);
    const text = await service.fetch(path, { method: 'POST', headers: { ...internalHeaders, 'content-type': 'text/plain' }, body: '[]' });
    expect([text.status, await text.text()]).toEqual([422, expect.stringContaining('application/x-ndjson')]);
  });
});

describe('L1: lines', () => {
  test('give lines in the same order; empty lines are ignored', async () => {
    const given = hashes(70);
    const { status, headers, items } = await postLines(`\n${given.map((hash) => JSON.stringify({ hash })).join('\r\n\n')}\n\n`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(items().map(({ content_sha256 }) => content_sha256)).toEqual(given);
  });

  test('a body cut in the middle of a line: complete lines are stamped, the rest is an error under its index', async () => {
    const [first, second] = hashes(2);
    const { status, items } = await postLines(`${JSON.stringify({ hash: first })}\n${JSON.stringify({ hash: second }).slice(0, 30)}`);
    expect(status).toBe(200);
    expect(items()[0]).toMatchObject({ content_sha256: first });
    expect(items()[1]).toMatchObject({ index: 1, status: 422, detail: [{ type: 'json_invalid', loc: ['body', 1, 30] }] });
  });

  test('zero lines and too many lines are 422 as a whole', async () => {
    expect(await postLines('\n \n')).toMatchObject({ status: 422 });
    const { status, text } = await postLines('x\n'.repeat(1_001));
    expect([status, JSON.parse(text)]).toMatchObject([422, { detail: [{ type: 'too_long', ctx: { actual_length: 1_001 } }] }]);
  });

  test('if a client leaves in the middle of its body, nothing is stamped', async () => {
    const before = await listStampIds(service, internalHeaders);
    const body = linesOf(ofHashes(hashes(20)));
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    const headers = { ...internalHeaders, 'content-type': 'application/x-ndjson', 'content-length': body.length };
    socket.end(postHead(path, headers) + body.slice(0, -20));
    expect(await answerOn(socket)).toMatchObject({ status: 400, body: expect.stringContaining('Nothing was done') });
    expect(await listStampIds(service, internalHeaders)).toEqual(before);
  });

  test('a client that does not read delays no other, and gets every line once it reads', async () => {
    const given = hashes(1_000);
    const body = linesOf(ofHashes(given));
    const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.pause();
    const headers = { ...internalHeaders, 'content-type': 'application/x-ndjson', 'content-length': body.length, connection: 'close' };
    socket.write(postHead(path, headers) + body);
    await eventually(async () => new Set(given).size === 1_000 && (await stampInternal(service, { hash: randomHash() })).status === 201);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    socket.resume();
    await once(socket, 'close');
    expect(text.match(/"content_sha256":"([0-9a-f]{64})"/g)?.map((member) => member.slice(18, -1))).toEqual(given);
  });
});

describe('L2: one key for the whole request', () => {
  test('S9: a repeated request gives the same answer, in either format, and no new stamp', async () => {
    const headers = { 'idempotency-key': `key-${randomHash()}` };
    const given = [...ofHashes(hashes(3)), { hash: 'bad' }, { hash: randomHash(), metadata: { n: '1' } }];
    const first = await stampMany(given, headers);
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    const listed = await listStampIds(service, internalHeaders);
    const again = await stampMany(given, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const withoutRequest = (items: JsonObject[]) => items.map(({ request_id, ...item }) => item);
    expect(withoutRequest(again.items)).toEqual(withoutRequest(first.items));
    const lines = await postLines(linesOf(given), headers);
    expect(withoutRequest(lines.items())).toEqual(withoutRequest(first.items));
    expect(await listStampIds(service, internalHeaders)).toEqual(listed);
    const { status, items } = await stampMany(given.toReversed(), headers);
    expect([status, items]).toEqual([409, expect.objectContaining({ code: 'idempotency_key_reused' })]);
  });

  test('if a request is sent twice at once, each item is stamped once', async () => {
    const headers = { 'idempotency-key': `key-${randomHash()}` };
    const given = ofHashes(hashes(100));
    const [first, second] = await Promise.all([stampMany(given, headers), stampMany(given, headers)]);
    expect(second.items).toEqual(first.items);
  });
});

describe('L3: limits count items', () => {
  test('E10: `overloaded` applies to the whole request before anything is accepted', async () => {
    const full = await startService({ workers: 0, settings: { QUEUE_MAX_DEPTH: '99', STAMP_WAIT_MS: '100' } });
    expect((await stampMany(ofHashes(hashes(50)), {}, full)).status).toBe(504);
    // The queue depth is measured once a second.
    const refused = await eventually(async () => {
      const answer = await stampMany(ofHashes(hashes(50)), ownProduct().headers, full);
      return answer.status === 503 && answer;
    });
    expect(refused.items).toEqual(expect.objectContaining({ code: 'overloaded' }));
    expect(refused.headers.get('retry-after')).toBe('5');
  });

  test('E11: an unfinished request is 504; each item has an address that shows the outcome later', async () => {
    const idle = await idleService();
    const given = hashes(70);
    const { status, headers, items } = await stampMany([...ofHashes(given), { hash: 'bad' }], {}, idle);
    expect([status, headers.get('retry-after')]).toEqual([504, '5']);
    expect(items.map(({ code }) => code)).toEqual([...Array(70).fill('stamp_pending'), 'validation_failed']);
    const { index, token_id, verify_url, retry_after_seconds } = items[69] ?? {};
    expect({ index, verify_url, retry_after_seconds }).toEqual({
      index: 69,
      verify_url: `/api/v1/verify/v1/token/${token_id}`,
      retry_after_seconds: 5,
    });
    await addWorker(idle);
    await eventually(async () => (await verifyById(idle, token_id)).body.content_sha256 === given[69]);
  });

  test('R2, S9: agents are limited by items; a request that does not fit is refused whole and not counted, and a replay never counts', async () => {
    const limited = await startService({ settings: { RATE_AGENT_PER_MINUTE: '10' } });
    const stampAgents = (count: number) => postJson(limited, '/api/v1/agent/v1/stamps', ofHashes(hashes(count)));
    const tooMany = await stampAgents(11);
    expect([tooMany.status, tooMany.body.detail]).toEqual([429, expect.stringContaining('this request has 11: send fewer at once')]);
    const given = ofHashes(hashes(6));
    const stampSix = async () => {
      const { status, headers } = await postJson(limited, '/api/v1/agent/v1/stamps', given, { 'idempotency-key': 'six-of-ten-stamps' });
      return [status, headers.get('idempotent-replayed'), headers.get('ratelimit-remaining')];
    };
    expect(await stampSix()).toEqual([200, null, '4']);
    for (const _ of [1, 2]) expect((await stampSix()).slice(0, 2)).toEqual([200, 'true']);
    expect((await stampAgents(5)).status).toBe(429);
    expect((await stampAgents(4)).status).toBe(200);
    expect((await postJson(limited, '/api/v1/agent/v1/stamp/basic', { hash: randomHash() })).status).toBe(429);
    expect((await stampSix()).slice(0, 2)).toEqual([200, 'true']);
  });
});
