import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cutConnections } from '../support/redis-clients.ts';
import { eventually, getJson, internalHeaders, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { addWorker, addWorkerProcess, ownProduct, startProcesses, startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

/** Longer than Redis may be silent before requests are refused. */
const apiFrozenMs = 2_000;

const totalOf = async (service: Parameters<typeof getJson>[0]) =>
  (await getJson(service, '/api/v1/internal/v1/stamps', internalHeaders)).body.total;

test('S7, E10: stopping workers finish their work; an API that froze blames no other part', async () => {
  const service = await startProcesses();
  const inProcess = await addWorker(service);
  const stampAll = (count: number) => Array.from({ length: count }, () => stampInternal(service, { hash: randomHash() }));
  const statusesOf = async (answers: ReturnType<typeof stampAll>) => new Set((await Promise.all(answers)).map(({ status }) => status));
  const underWay = stampAll(100);
  await Promise.race(underWay);
  expect(await Promise.all([service.workers[0]?.stop(), inProcess.stop()])).toEqual([0, null]);
  await addWorker(service);
  expect(await statusesOf(underWay)).toEqual(new Set([201]));

  process.kill(service.pid, 'SIGSTOP');
  const meanwhile = stampAll(20);
  await delay(apiFrozenMs);
  process.kill(service.pid, 'SIGCONT');
  expect(await statusesOf(meanwhile)).toEqual(new Set([201]));
  expect(await totalOf(service)).toBe(120);
});

test('S9, S12, E11: one key gives one stamp: after a 504 as the first answer, and sent many times at once', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '300' } });
  const request = { content_b64: Buffer.from('sealed').toString('base64'), tier: 'sealed' };
  const ask = () => stampInternal(service, request, { 'idempotency-key': 'patience' });
  const { status, body: promised } = await ask();
  expect(status).toBe(504);
  await service.startWorker();
  const { body } = await eventually(async () => {
    const answer = await ask();
    return answer.status === 201 && answer;
  });
  const { token_id, sealed_storage_url } = promised;
  expect(body).toMatchObject({ token_id, sealed_storage_url });
  expect(await (await service.fetch(String(sealed_storage_url))).text()).toBe('sealed');

  const hash = randomHash();
  const answers = await Promise.all(Array.from({ length: 20 }, () => stampInternal(service, { hash }, { 'idempotency-key': 'once' })));
  expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.token_id}`)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true')).toHaveLength(1);
  expect(await totalOf(service)).toBe(2);
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
  const { status, body } = await stampInternal(service, { hash: randomHash() });
  expect(status).toBe(504);
  await service.startWorker();
  await eventually(async () => tsa.server.received.length >= 3);
  expect((await verifyById(service, body.token_id)).body.valid).toBe(false);
  tsa.server.failAlways(undefined);
  expect(await eventually(async () => (await verifyById(service, body.token_id)).body.valid, 40_000)).toBe(true);
});
