import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { sendJson, startStub } from '../support/cli.ts';
import { installedClient } from '../support/client-package.ts';
import { eventually, listStampIds, randomHash, sha256 } from '../support/requests.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';

const client = await (await installedClient()).load();

const stampOf = (hash: string) => ({ token_id: crypto.randomUUID(), content_sha256: hash, token: 'AA==' });
const refusal = (code: string, more: object = {}) => ({ detail: 'A sentence.', code, request_id: 'request-1', ...more });
const stamps = { hash: sha256('a') };

describe('qstamp-client tries again, with the same key', () => {
  test('E10: waits for Retry-After if a part is unavailable, and for its own delay if there is no answer', async () => {
    const times: number[] = [];
    const stub = await startStub((response, _request, attempt) => {
      times.push(performance.now());
      if (attempt === 1) return sendJson(response, 503, refusal('overloaded'), { 'retry-after': '1' });
      if (attempt === 2) return void response.destroy();
      if (attempt === 3) return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
      sendJson(response, 201, stampOf(stamps.hash));
    });
    const qstamp = new client.Qstamp({ url: `${stub.url}/behind/a/proxy/` });
    expect((await qstamp.stampHash(stamps.hash)).content_sha256).toBe(stamps.hash);
    const keys = new Set(stub.seen.map(({ headers }) => headers['idempotency-key']));
    expect([stub.seen.length, keys.size]).toEqual([4, 1]);
    expect(stub.seen[0]?.line).toBe('POST /behind/a/proxy/api/v1/agent/v1/stamp/basic?details=true');
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(990);
  });

  test('E7, E9: too long a wait or a failure is reported at once', async () => {
    const answers: readonly (readonly [number, object, string | undefined])[] = [
      [429, refusal('rate_limited'), '3600'],
      [502, refusal('provider_failed'), undefined],
      [503, refusal('queue_unavailable'), new Date(Date.now() + 3_600_000).toUTCString()],
    ];
    const stub = await startStub((response, _request, attempt) => {
      const [status, body, wait] = answers[attempt - 1]!;
      sendJson(response, status, body, wait === undefined ? {} : { 'retry-after': wait });
    });
    const qstamp = new client.Qstamp({ url: stub.url });
    await expect(qstamp.stampHash(stamps.hash)).rejects.toMatchObject({ name: 'RateLimited', retryAfterSeconds: 3600 });
    await expect(qstamp.stampHash(stamps.hash)).rejects.toMatchObject({ name: 'ProviderFailed', code: 'provider_failed' });
    await expect(qstamp.stampHash(stamps.hash)).rejects.toMatchObject({ name: 'Unavailable', retryAfterSeconds: expect.closeTo(3600, -1) });
    expect(stub.seen).toHaveLength(3);
  });

  test('without an answer, no try starts after the longest wait', async () => {
    const stub = await startStub(() => undefined);
    const qstamp = new client.Qstamp({ url: stub.url, timeout: 200, maxWait: 150 });
    await expect(qstamp.stampHash(stamps.hash)).rejects.toMatchObject({ name: 'ServiceUnreachable' });
    expect(stub.seen).toHaveLength(1);
  });

  test('a service token is not sent to a redirect target', async () => {
    const other = await startStub((response) => sendJson(response, 201, stampOf(stamps.hash)));
    const stub = await startStub((response) => void response.writeHead(307, { location: `${other.url}/elsewhere` }).end());
    const qstamp = new client.Qstamp({ url: stub.url, serviceToken: 'secret' });
    await expect(qstamp.stampHash(stamps.hash)).rejects.toMatchObject({ status: 307 });
    expect(other.seen).toHaveLength(0);
  });

  test('a wait ends when the caller aborts', async () => {
    const stub = await startStub((response) => sendJson(response, 503, refusal('overloaded'), { 'retry-after': '30' }));
    const giveUp = new AbortController();
    const call = new client.Qstamp({ url: stub.url }).stampHash(stamps.hash, { signal: giveUp.signal });
    await eventually(async () => stub.seen.length === 1);
    giveUp.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });
});

describe('qstamp-client and the real service: nothing is made twice', () => {
  /** The first answer to each request is lost on its way back. */
  const losing = (): typeof fetch => {
    const answered = new Set<string>();
    return async (input, init) => {
      const response = await fetch(input, init);
      const key = String(new Headers(init?.headers).get('idempotency-key'));
      if (answered.has(key)) return response;
      answered.add(key);
      throw new TypeError('the connection was cut');
    };
  };
  const connect = ({ url }: Service, options: object = {}) => new client.Qstamp({ url, serviceToken, ...options });

  test('S9, W8: a lost answer is requested again', async () => {
    const service = await startService({ settings: { RATE_WORKFLOW_START_PER_HOUR: '0' } });
    const qstamp = connect(service, { fetch: losing() });
    const { token_id } = await qstamp.stampText('once');
    expect(await listStampIds(service)).toEqual([token_id]);
    const workflow = await qstamp.startWorkflow({ user_email: 'client@example.com', agent_id: 'a', briefing_hash: stamps.hash });
    const made = await Promise.all(['one', 'two', 'three'].map((text) => workflow.stampText(text)));
    expect(made.map(({ sequence_number }) => sequence_number)).toEqual([1, 2, 3]);
    expect((await workflow.complete()).output_count).toBe(3);
  });

  test('E11: a pending stamp has an address, and the same key leads to it', async () => {
    const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '100' } });
    const options = { idempotencyKey: randomHash() };
    const pending = await connect(service, { maxWait: 1_000 })
      .stampText('slow', options)
      .catch((error: unknown) => error);
    expect(pending).toBeInstanceOf(client.Pending);
    const { stampId, address } = pending as InstanceType<typeof client.Pending>;
    expect(address).toBe(`/api/v1/verify/v1/token/${stampId}`);
    // This client waits as long as the service says, and gets the stamp.
    const again = connect(service).stampText('slow', options);
    await service.startWorker();
    expect((await again).token_id).toBe(stampId);
    expect(await listStampIds(service)).toEqual([stampId]);
  });
});

describe('qstamp-client stamps many', () => {
  const hashes = Array.from({ length: 1_001 }, (_, index) => sha256(String(index)));

  test('a thousand in one request; each succeeds or fails alone, and pending ones are requested again', async () => {
    const stub = await startStub((response, { body }, attempt) => {
      const items: { hash: string }[] = JSON.parse(body);
      const answers: object[] = items.map(({ hash }) => stampOf(hash));
      if (items.length > 1) answers[7] = refusal('provider_failed', { index: 7, status: 502 });
      if (attempt === 1) answers[8] = refusal('stamp_pending', { index: 8, status: 504, token_id: 'id', verify_url: '/there' });
      sendJson(response, attempt === 1 ? 504 : 200, answers, attempt === 1 ? { 'retry-after': '0' } : {});
    });
    const outcomes = await new client.Qstamp({ url: stub.url, serviceToken }).stampMany(hashes, { tier: 'plus' });
    expect(outcomes.map(({ made, error }) => made?.content_sha256 ?? error?.name)).toEqual(hashes.with(7, 'ProviderFailed'));
    expect(stub.seen.map(({ line, body }) => [line, JSON.parse(body).length])).toEqual([
      ['POST /api/v1/internal/v1/stamps?details=true', 1_000],
      ['POST /api/v1/internal/v1/stamps?details=true', 1_000],
      ['POST /api/v1/internal/v1/stamps?details=true', 1],
    ]);
    const [first, again, last] = stub.seen.map(({ headers }) => headers['idempotency-key']);
    expect(again).toBe(first);
    expect(last).not.toBe(first);
  });

  test('L3: request sizes of agents and workflows fit the limit per minute; finished stamps are returned when a later part is refused', async () => {
    const stub = await startStub((response, { line, body }, attempt) => {
      if (attempt === 3) return sendJson(response, 429, refusal('rate_limited'), { 'retry-after': '3600' });
      const items: { hash: string }[] = JSON.parse(body);
      const answers = items.map(({ hash }) => (line.includes('workflow') ? { sequence_number: 1 } : stampOf(hash)));
      sendJson(response, 200, answers);
    });
    const qstamp = new client.Qstamp({ url: stub.url });
    const outcomes = await qstamp.stampMany([...hashes, ...hashes].slice(0, 1_501), { idempotencyKey: 'run' });
    expect(outcomes.map(({ made }) => made?.content_sha256)).toEqual([...hashes.slice(0, 1_000), ...Array(501)]);
    expect(outcomes.slice(1_000).every(({ error }) => error instanceof client.RateLimited)).toBe(true);
    expect(stub.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['run:0', 'run:1', 'run:2']);
    const workflow = qstamp.openWorkflow({ workflow_id: 'id', workflow_token: 'secret' });
    await workflow.stampMany(hashes.slice(0, 101).map((output_hash) => ({ output_hash, output_type: 'text' })));
    expect(stub.seen.slice(3).map(({ body }) => JSON.parse(body).length)).toEqual([100, 1]);
  });

  test('a stamp that stays pending is returned with its address; a refusal of the whole request is one error', async () => {
    const pending = refusal('stamp_pending', { index: 0, status: 504, token_id: 'id', verify_url: '/there' });
    const stub = await startStub((response, _request, attempt) => {
      if (attempt === 1) return sendJson(response, 504, [pending], { 'retry-after': '3600' });
      sendJson(response, 401, refusal('unauthorized'));
    });
    const qstamp = new client.Qstamp({ url: stub.url });
    const [outcome] = await qstamp.stampMany(hashes.slice(0, 1));
    expect(outcome?.error).toMatchObject({ name: 'Pending', stampId: 'id', address: '/there' });
    await expect(qstamp.stampMany(hashes.slice(0, 1))).rejects.toThrow(client.Unauthorized);
  });
});

describe('qstamp-client verifies webhooks', () => {
  // A published example of Standard Webhooks (Svix, verifying webhooks manually).
  const secret = 'whsec_plJ3nmyCDGBKInavdOK15jsl';
  const body = '{"event_type":"ping","data":{"success":true}}';
  const signature = 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=';
  const headers = { 'webhook-id': 'msg_loFOjxBNrRLzqYUf', 'webhook-timestamp': '1731705121', 'webhook-signature': signature };
  const now = 1731705121;
  const other = `whsec_${Buffer.from('another secret').toString('base64')}`;

  test('accepts a signature by one of the secrets, among several, with headers in server form', async () => {
    const payload = { event_type: 'ping', data: { success: true } };
    expect(await client.verifyWebhook(body, headers, { secret, now })).toEqual(payload);
    expect(await client.verifyWebhook(Buffer.from(body), new Headers(headers), { secret: [other, secret], now })).toEqual(payload);
    const several = { ...headers, 'webhook-signature': `v1a,AAAA v1,AAAA ${signature}` };
    expect(await client.verifyWebhook(body, several, { secret, now: now + 299 })).toEqual(payload);
    const sentAt = String(Math.floor(Date.now() / 1000));
    const fresh = createHmac('sha256', 'another secret').update(`1.${sentAt}.{}`).digest('base64');
    const sent = { 'webhook-id': '1', 'webhook-timestamp': sentAt, 'webhook-signature': `v1,${fresh}` };
    expect(await client.verifyWebhook('{}', sent, { secret: other })).toEqual({});
  });

  test.each([
    ['another body', body.replace('ping', 'pong'), headers, { secret, now }],
    ['another id', body, { ...headers, 'webhook-id': 'msg_other' }, { secret, now }],
    ['another secret', body, headers, { secret: other, now }],
    ['no secret', body, headers, { secret: [], now }],
    ['an old one', body, headers, { secret, now: now + 301 }],
    ['one of the future', body, headers, { secret, now: now - 301 }],
    ['another scheme', body, { ...headers, 'webhook-signature': signature.replace('v1', 'v2') }, { secret, now }],
    ['no base64', body, { ...headers, 'webhook-signature': 'v1,%%%' }, { secret, now }],
    ['a time that is none', body, { ...headers, 'webhook-timestamp': '1731705121.0' }, { secret, now }],
    ['no headers', body, {}, { secret, now }],
  ])('refuses %s', async (_what, given, sent, options) => {
    await expect(client.verifyWebhook(given, sent, options)).rejects.toThrow(client.WebhookRefused);
  });
});
