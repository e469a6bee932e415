import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { tries } from '../support/depth.ts';
import { refusedAtOnce, untilRefused } from '../support/refusals.ts';
import {
  eventually,
  expectStamped,
  getJson,
  type JsonAnswer,
  randomHash,
  stampAgent,
  stampInternal,
  verifyById,
} from '../support/requests.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

test('Redis stopped: 503, alive but not ready, and back without a restart (E10, R4)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { REDIS_URL: redis.url } });
  const before = await stampInternal(service, { hash: randomHash() });
  expect(before.status).toBe(201);

  await redis.stop();
  await refusedAtOnce(() => stampInternal(service, { hash: randomHash() }));
  await refusedAtOnce(() => stampAgent(service, 'basic', { hash: randomHash() }));
  expect((await service.fetch('/health/live')).status).toBe(200);
  expect((await service.fetch('/health/ready')).status).toBe(503);
  expect((await getJson(service, '/health/')).body).toMatchObject({ checks: { redis: 'failing', mongodb: 'ok' } });
  expect((await verifyById(service, before.body.token_id)).body.valid).toBe(true);

  await redis.start();
  const after = await eventually(async () => {
    const answer = await stampInternal(service, { hash: randomHash() });
    return answer.status === 201 && answer;
  });
  expect((await verifyById(service, after.body.token_id)).body.valid).toBe(true);
  expect((await verifyById(service, before.body.token_id)).body.valid).toBe(true);
});

test('Redis hanging: 503 once it is noticed, also for many requests at once, and recovery by itself (E10)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { REDIS_URL: redis.url, STAMP_WAIT_MS: '30000' } });
  await redis.pause();
  const sentBefore = stampInternal(service, { hash: randomHash() });
  try {
    await untilRefused(service);
    await Promise.all(Array.from({ length: tries(100, 50) }, () => refusedAtOnce(() => stampInternal(service, { hash: randomHash() }))));
  } finally {
    // A service that waits for Redis would not stop.
    await redis.resume();
  }
  expect((await sentBefore).status).toBe(201);
  await eventually(async () => (await stampInternal(service, { hash: randomHash() })).status === 201);
});

test('Redis restarted under load: every accepted stamp gets 201 or becomes readable (E11)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { REDIS_URL: redis.url }, workers: 2 });
  const answers: JsonAnswer[] = [];
  const clients = Array.from({ length: 32 }, async () => {
    for (let request = 0; request < tries(20, 8); request += 1) answers.push(await stampInternal(service, { hash: randomHash() }));
  });
  await eventually(async () => answers.length > 60);
  await redis.stop();
  await redis.start();
  await Promise.all(clients);
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 503, 504]))).toEqual(new Set());
  await expectStamped(
    service,
    answers.filter(({ status }) => status !== 503),
  );
});

test('Redis out of memory: accepted stamps are made, can be read from the store, and leave the queue (E11)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const tsa = await startTsa();
  const service = await startService({ settings: { REDIS_URL: redis.url, STAMP_WAIT_MS: '5000', ...providersSettings([{ tsa }]) } });
  const askedAtStart = tsa.server.received.length;
  tsa.server.failAlways(createFault('slow:1500'));
  const answer = stampInternal(service, { hash: randomHash() });
  await eventually(async () => tsa.server.received.length > askedAtStart);
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const hasJobs = async () => (await client.keys('{qstamp}:stamps:????????-*')).length > 0;
  expect(await hasJobs()).toBe(true);
  await client.config('SET', 'maxmemory', '1');

  expect((await answer).status).toBe(201);
  await eventually(async () => !(await hasJobs()));
  expect(tsa.server.received).toHaveLength(askedAtStart + 1);
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(503);

  await client.config('SET', 'maxmemory', '0');
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);
});

test('the address of an agent is still limited while Redis is away (R4)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { REDIS_URL: redis.url, RATE_VERIFY_PER_MINUTE: '5' } });
  await redis.stop();
  const answers = await Promise.all(Array.from({ length: 8 }, () => verifyById(service, '01890a5d-ac96-774b-bcce-b302099a8057')));
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(3);
});
