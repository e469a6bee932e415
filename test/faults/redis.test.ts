import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { collectionOf, openDatabase } from '../support/database.ts';
import { refusedAtOnce } from '../support/refusals.ts';
import { eventually, randomHash, stampAgent, stampInternal, verifyById } from '../support/requests.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';
import { completeWorkflow, redactWorkflow, startRequest, startWorkflow, startWorkflowRaw } from '../support/workflows.ts';

test('E10, R4, W12: without Redis: 503 at once, addresses are limited, a workflow can be redacted, and a start keeps no address', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const settings = { REDIS_URL: redis.url, RATE_VERIFY_PER_MINUTE: '5', RATE_WORKFLOW_START_PER_HOUR: '0' };
  const service = await startService({ settings });
  const workflow = await startWorkflow(service);
  const { body: before } = await stampInternal(service, { hash: randomHash() });

  await redis.stop();
  await refusedAtOnce(() => stampInternal(service, { hash: randomHash() }));
  await refusedAtOnce(() => stampAgent(service, 'basic', { hash: randomHash() }));
  await refusedAtOnce(() => startWorkflowRaw(service, startRequest()));
  expect((await completeWorkflow(service, workflow)).status).toBe(503);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  expect(await collectionOf(await openDatabase(service), 'workflows').countDocuments({})).toBe(1);
  const answers = await Promise.all(Array.from({ length: 8 }, () => verifyById(service, before.token_id)));
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(3);
  expect(answers.filter(({ body }) => body.valid === true)).toHaveLength(5);

  await redis.start();
  await eventually(async () => (await completeWorkflow(service, workflow)).status === 200);
  await startWorkflow(service);
});

test('E11: Redis out of memory: accepted stamps are made, can be read from the store, and leave the queue', async () => {
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
});
