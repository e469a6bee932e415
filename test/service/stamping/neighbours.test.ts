import { expect, test } from 'vitest';
import { openQueueLab } from '../../support/queue-lab.ts';
import { eventually, getJson, type JsonObject, postJson, randomHash } from '../../support/requests.ts';
import { ownProduct, type RunningService, startService } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { stampOutput, startWorkflow } from '../../support/workflows.ts';

const hashes = (count: number) => Array.from({ length: count }, () => ({ hash: randomHash() }));
const [stampPath, bulkPath] = ['/api/v1/internal/v1/stamp', '/api/v1/internal/v1/stamps'];
type Product = ReturnType<typeof ownProduct>;
const stampOne = (service: RunningService, { headers }: Product, more: Record<string, string> = {}) =>
  postJson(service, stampPath, { hash: randomHash() }, { ...headers, ...more });
const promiseMany = (service: RunningService, { headers }: Product, count: number) =>
  postJson(service, bulkPath, hashes(count), { ...headers, prefer: 'respond-async' });
const totalOf = async (service: RunningService, { headers }: Product) => (await getJson(service, bulkPath, headers)).body.total;

test('R7: a product that floods the service with promises does not delay the stamps of another', async () => {
  const tsa = await startTsa();
  tsa.server.failAlways(createFault('slow:500'));
  const service = await startService({ settings: { ...providersSettings([{ tsa }]), WORKER_CONCURRENCY: '4' } });
  const [flooding, waiting] = [ownProduct(), ownProduct()];
  const flood = await Promise.all(Array.from({ length: 4 }, () => promiseMany(service, flooding, 300)));
  expect(flood.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
  for (let request = 0; request < 2; request += 1) expect((await stampOne(service, waiting)).status).toBe(201);
  // The flood was not finished before.
  expect(await totalOf(service, flooding)).toBeLessThan(1_200);
  tsa.server.failAlways(undefined);
  await eventually(async () => (await totalOf(service, flooding)) === 1_200, 60_000);
});

test('E11, W8: owed stamps leave their queue and are made; outputs stay in theirs and keep their order', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '400' } });
  const { stamps, promised } = await openQueueLab(service.settings.REDIS_URL);
  const product = ownProduct();
  const workflow = await startWorkflow(service);
  const given = hashes(5);
  for (const { hash } of given) {
    expect((await stampOutput(service, workflow, { output_hash: hash }, { prefer: 'respond-async' })).status).toBe(202);
  }
  const owed = await Promise.all(Array.from({ length: 5 }, () => stampOne(service, product)));
  expect(owed.map(({ status }) => status)).toEqual(Array(5).fill(504));
  expect(await promised.count()).toBe(0);

  await promised.pause();
  await service.startWorker();
  const chain = await eventually(async () => {
    const { body } = await getJson(service, `/workflow/${workflow.id}/outputs.json`);
    return (body.outputs as JsonObject[]).length === 5 && (body.outputs as JsonObject[]);
  });
  expect(chain.map(({ output_hash }) => output_hash)).toEqual(given.map(({ hash }) => hash));
  await eventually(async () => (await stamps.getJobCountByTypes('wait', 'delayed', 'active')) === 0);
  expect(await promised.count()).toBeGreaterThan(0);
  expect(await totalOf(service, product)).toBe(0);
  await promised.resume();
  await eventually(async () => (await totalOf(service, product)) === 5);
});

test('R7: one caller may have half of the queue unanswered, then 429; others get in, and replies make room again', async () => {
  const service = await startService({ workers: 0, settings: { QUEUE_MAX_DEPTH: '20', STAMP_WAIT_MS: '200' } });
  const [full, other] = [ownProduct(), ownProduct()];
  const tooMany = await promiseMany(service, other, 11);
  expect([tooMany.status, tooMany.body]).toEqual([
    429,
    expect.objectContaining({ code: 'rate_limited', detail: expect.stringContaining('this request has 11: send at most 10 at once') }),
  ]);
  expect((await promiseMany(service, full, 9)).status).toBe(202);
  expect((await stampOne(service, full)).status).toBe(504);
  for (const refused of [await stampOne(service, full), await promiseMany(service, full, 2)]) {
    expect([refused.status, refused.headers.get('retry-after'), refused.body.code]).toEqual([429, '5', 'rate_limited']);
  }
  const async = { prefer: 'respond-async' };
  expect((await stampOne(service, other, async)).status).toBe(202);
  const byAgent = await postJson(service, '/api/v1/agent/v1/stamp/basic', { hash: randomHash() }, async);
  expect(byAgent.status).toBe(202);
  await service.startWorker();
  await eventually(async () => (await promiseMany(service, full, 10)).status === 202);
  await eventually(async () => (await totalOf(service, full)) === 20);
});

test('RATE_INTERNAL_PER_MINUTE limits the stamps of each product; items of a bulk request count, and a replay does not', async () => {
  const service = await startService({ settings: { RATE_INTERNAL_PER_MINUTE: '5' } });
  const [product, other] = [ownProduct(), ownProduct()];
  const key = { 'idempotency-key': 'one' };
  const request = { hash: randomHash() };
  const first = await postJson(service, stampPath, request, { ...product.headers, ...key });
  expect([first.status, first.headers.get('ratelimit-limit'), first.headers.get('ratelimit-remaining')]).toEqual([201, '5', '4']);
  expect((await postJson(service, stampPath, request, { ...product.headers, ...key })).headers.get('idempotent-replayed')).toBe('true');
  const stampMany = (count: number, { headers }: Product) => postJson(service, bulkPath, hashes(count), headers);
  const refused = await stampMany(5, product);
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    expect.stringMatching(/^\d+$/),
  ]);
  expect((await stampMany(4, product)).status).toBe(200);
  expect((await stampOne(service, product)).status).toBe(429);
  const call = { name: 'service_stamp_hash', arguments: { sha256_hex: randomHash() } };
  const byAssistant = await postJson(service, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }, product.headers);
  expect(JSON.stringify(byAssistant.body)).toContain('rate_limited');
  expect((await stampMany(5, other)).status).toBe(200);
});
