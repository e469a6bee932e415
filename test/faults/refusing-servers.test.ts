import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { expectState } from '../support/component-state.ts';
import { eventually, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { refuseWrites } from '../support/store-faults.ts';
import { stampOutput, startWorkflow } from '../support/workflows.ts';

const withinMs = 5_000;

test('E10: Redis at maxmemory: not ready, an outage, 503; recovery by itself', async () => {
  const server = await startPrivateRedis();
  onTestFinished(server.dispose);
  const service = await startService({ settings: { REDIS_URL: server.url } });
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
  await redis.config('SET', 'maxmemory', '1');
  await expectState(service, { redis: 'failing', mongodb: 'ok' }, 'The queue accepts no writes.');
  expect(await stampInternal(service, { hash: randomHash() })).toMatchObject({ status: 503, body: { code: 'queue_unavailable' } });
  await redis.config('SET', 'maxmemory', '0');
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
});

test('E10: a store that answers but refuses writes: not ready, an outage, 503; stored stamps verify; recovery by itself', async () => {
  const mongo = await startPrivateMongo();
  onTestFinished(mongo.dispose);
  const service = await startService({ settings: { MONGODB_URL: mongo.url, STAMP_WAIT_MS: '1000' } });
  const workflow = await startWorkflow(service);
  const { body: before } = await stampInternal(service, { hash: randomHash() });
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');

  const mend = await refuseWrites(mongo);
  const early = await stampInternal(service, { hash: randomHash() });
  await expectState(service, { redis: 'ok', mongodb: 'failing' }, 'The store accepts no writes.');
  expect(await stampInternal(service, { hash: randomHash() })).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
  expect(await stampOutput(service, workflow)).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
  expect((await verifyById(service, before.token_id)).body.valid).toBe(true);

  await mend();
  await eventually(async () => (await stampInternal(service, { hash: randomHash() })).status === 201, withinMs);
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
  // Requests accepted before it was noticed were kept in the queue (E11). The store may begin to refuse a moment later (201).
  expect([201, 503, 504]).toContain(early.status);
  if (early.status !== 503) await eventually(async () => (await verifyById(service, early.body.token_id)).body.valid === true);
}, 60_000);
