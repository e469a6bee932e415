import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { tries } from '../support/depth.ts';
import { cutConnections } from '../support/redis-clients.ts';
import {
  eventually,
  expectStamped,
  getJson,
  internalHeaders,
  listStampIds,
  randomHash,
  stampInternal,
  verifyById,
} from '../support/requests.ts';
import { addWorker, addWorkerProcess, ownProduct, startProcesses, startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

/** Longer than Redis may be silent before requests are refused. */
const apiFrozenMs = 2_000;

const totalOf = async (service: Parameters<typeof getJson>[0]) =>
  (await getJson(service, '/api/v1/internal/v1/stamps', internalHeaders)).body.total;

test('workers killed in mid-run: each accepted stamp is made exactly once (S7); a stopping one finishes its work; an API that froze blames no other part (E10)', async () => {
  const service = await startProcesses({ workers: 2 });
  const [first, second] = service.workers;
  const answers: Awaited<ReturnType<typeof stampInternal>>[] = [];
  const perClient = tries(20, 4);
  const total = 32 * perClient;
  const clients = Array.from({ length: 32 }, async () => {
    for (let request = 0; request < perClient; request += 1) answers.push(await stampInternal(service, { hash: randomHash() }));
  });
  await eventually(async () => answers.length > total * 0.15);
  await first?.kill();
  const third = await addWorkerProcess(service);
  await eventually(async () => answers.length > total * 0.45);
  await second?.kill();
  const fourth = await addWorker(service);
  await Promise.all(clients);
  expect(answers).toHaveLength(total);
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 504]))).toEqual(new Set());
  await expectStamped(service, answers);
  expect((await listStampIds(service)).toSorted()).toEqual(answers.map(({ body }) => body.token_id as string).toSorted());
  expect(await totalOf(service)).toBe(total);

  const statusesOf = (many: typeof answers) => new Set(many.map(({ status }) => status));
  const underWay = Array.from({ length: 100 }, () => stampInternal(service, { hash: randomHash() }));
  await Promise.race(underWay);
  expect(await Promise.all([third.stop(), fourth.stop()])).toEqual([0, null]);
  await addWorker(service);
  expect(statusesOf(await Promise.all(underWay))).toEqual(new Set([201]));

  process.kill(service.pid, 'SIGSTOP');
  const meanwhile = Array.from({ length: 20 }, () => stampInternal(service, { hash: randomHash() }));
  await delay(apiFrozenMs);
  process.kill(service.pid, 'SIGCONT');
  expect(statusesOf(await Promise.all(meanwhile))).toEqual(new Set([201]));
});

test('no worker: 504, and the stamp exists soon after one starts (E11)', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '300' } });
  const hash = randomHash();
  const { status, body } = await stampInternal(service, { hash });
  expect(status).toBe(504);
  expect((await verifyById(service, body.token_id)).body.valid).toBe(false);
  await service.startWorker();
  const result = await eventually(async () => {
    const { body: verified } = await verifyById(service, body.token_id);
    return verified.valid === true && verified;
  });
  expect(result.content_sha256).toBe(hash);
  expect(await totalOf(service)).toBe(1);
});

test('an idempotency key whose first answer was 504 gets the same stamp later (S9, E11)', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '300' } });
  const headers = { 'idempotency-key': 'patience' };
  const request = { content_b64: Buffer.from('sealed').toString('base64'), tier: 'sealed' };
  const first = await stampInternal(service, request, headers);
  expect(first.status, JSON.stringify(first.body)).toBe(504);
  await service.startWorker();
  const second = await eventually(async () => {
    const answer = await stampInternal(service, request, headers);
    return answer.status === 201 && answer;
  });
  expect(second.body.token_id).toBe(first.body.token_id);
  expect(second.body.sealed_storage_url).toBe(first.body.sealed_storage_url);
  expect(await (await service.fetch(second.body.sealed_storage_url as string)).text()).toBe('sealed');
  expect(await totalOf(service)).toBe(1);
});

test('above QUEUE_MAX_DEPTH requests get 503 at once, and no accepted stamp is lost (E10)', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '300', QUEUE_MAX_DEPTH: '5' } });
  const stampMany = (requests: number, headers: Record<string, string> = {}) =>
    Promise.all(Array.from({ length: requests }, () => stampInternal(service, { hash: randomHash() }, headers)));
  // One product may have three of five.
  const accepted = [...(await stampMany(3)), ...(await stampMany(2, ownProduct().headers))];
  // The queue depth is measured once a second.
  await eventually(async () => {
    const answers = await stampMany(1, ownProduct().headers);
    accepted.push(...answers.filter(({ status }) => status !== 503));
    return answers.some(({ status }) => status === 503);
  });
  expect(new Set(accepted.map(({ status }) => status))).toEqual(new Set([504]));
  for (const { status, body, headers } of await stampMany(20, ownProduct().headers)) {
    expect([status, body]).toEqual([503, expect.objectContaining({ code: 'overloaded' })]);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
  }
  await service.startWorker();
  await eventually(async () => (await stampInternal(service, { hash: randomHash() })).status === 201);
  for (const { body } of accepted) expect(await eventually(async () => (await verifyById(service, body.token_id)).body.valid)).toBe(true);
});

test('a stopping worker that loses Redis for a moment finishes its work, and asks no provider twice', async () => {
  const tsa = await startTsa();
  const service = await startService({ workers: 0, settings: providersSettings([{ tsa }]) });
  const worker = await addWorkerProcess(service);
  await eventually(async () => tsa.server.received.length > 0);
  const askedAtStart = tsa.server.received.length;
  tsa.server.failAlways(createFault('slow:2000'));
  const answer = stampInternal(service, { hash: randomHash() });
  await eventually(async () => tsa.server.received.length > askedAtStart);
  const stopped = worker.stop();
  await eventually(async () => worker.output().includes('"stopping"'));
  await cutConnections(service.settings.REDIS_URL ?? '', 'qstamp-worker');
  expect(await stopped).toBe(0);
  expect((await answer).status).toBe(201);
  expect(tsa.server.received).toHaveLength(askedAtStart + 1);
});

test('a stamp promised by a 504 is made, however long the provider fails (E11)', async () => {
  const tsa = await startTsa();
  tsa.server.failAlways(createFault('bad_signature'));
  const service = await startService({ workers: 0, settings: { ...providersSettings([{ tsa }]), STAMP_WAIT_MS: '300' } });
  const hash = randomHash();
  const { status, body } = await stampInternal(service, { hash });
  expect(status).toBe(504);
  await service.startWorker();
  await eventually(async () => tsa.server.received.length >= 3);
  expect((await verifyById(service, body.token_id)).body.valid).toBe(false);
  tsa.server.failAlways(undefined);
  expect(await eventually(async () => (await verifyById(service, body.token_id)).body.valid, 40_000)).toBe(true);
});

test('one key sent many times at once gives one stamp, counted once (S9, S12)', async () => {
  const service = await startService({ workers: 0 });
  const request = { hash: randomHash() };
  const pending = Array.from({ length: 20 }, () => stampInternal(service, request, { 'idempotency-key': 'once' }));
  await service.startWorker();
  const answers = await Promise.all(pending);
  expect(new Set(answers.map(({ status, body }) => `${status} ${body.token_id}`)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true')).toHaveLength(1);
  const { body } = await getJson(service, '/api/v1/internal/v1/stamps', internalHeaders);
  expect([body.total, (body.items as unknown[]).length]).toEqual([1, 1]);
});
