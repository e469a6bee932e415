import { expect, onTestFinished, test } from 'vitest';
import { collectionOf, openDatabase } from '../support/database.ts';
import { startMailServer } from '../support/mail.ts';
import { eventually } from '../support/requests.ts';
import { startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { completeWorkflow, redactWorkflow, stampOutput, startRequest, startWorkflow, startWorkflowRaw } from '../support/workflows.ts';

const unlimited = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_WORKFLOW_STAMP_PER_MINUTE: '0' };

test('Redis away: start gives 503 and keeps no address without an answer; once it is back, everything works again (E10, W12)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const mail = await startMailServer();
  const service = await startService({ settings: { ...unlimited, REDIS_URL: redis.url, SMTP_URL: mail.url } });
  const workflow = await startWorkflow(service);
  await redis.stop();
  for (const refused of [await startWorkflowRaw(service, startRequest()), await stampOutput(service, workflow)]) {
    expect([refused.status, refused.body.code, refused.headers.has('retry-after')]).toEqual([503, 'queue_unavailable', true]);
  }
  expect((await completeWorkflow(service, workflow)).status).toBe(503);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  const db = await openDatabase(service);
  expect(await collectionOf(db, 'workflows').countDocuments({ _id: { $ne: workflow.id } })).toBe(0);
  await redis.start();
  await eventually(async () => (await stampOutput(service, workflow)).status === 201);
  const later = await startWorkflow(service);
  await mail.linkFor(later.id);
  await eventually(async () => (await completeWorkflow(service, workflow)).status === 200);
}, 90_000);

test('MongoDB killed while stamping: 503 or 504 but never 500; afterwards the chain has each output that got 201 (W8)', async () => {
  const mongo = await startPrivateMongo();
  onTestFinished(mongo.dispose);
  const service = await startService({ workers: 2, settings: { ...unlimited, MONGODB_URL: mongo.url, STAMP_WAIT_MS: '3000' } });
  const workflow = await startWorkflow(service);
  const answers: Awaited<ReturnType<typeof stampOutput>>[] = [];
  const clients = Array.from({ length: 10 }, async () => {
    for (let count = 0; count < 15; count += 1) answers.push(await stampOutput(service, workflow));
  });
  await eventually(async () => answers.length > 30);
  await mongo.kill();
  await mongo.start();
  await Promise.all(clients);
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 503, 504]))).toEqual(new Set());
  const completed = await eventually(async () => {
    const answer = await completeWorkflow(service, workflow);
    return answer.status === 200 && answer;
  }, 60_000);
  const db = await openDatabase(service);
  const stored = await collectionOf(db, 'outputs').find({ workflowId: workflow.id, kind: 'output' }).sort({ _id: 1 }).toArray();
  expect(stored.map(({ sequenceNumber }) => sequenceNumber)).toEqual(stored.map((_, index) => index + 1));
  expect(completed.body.output_count).toBe(stored.length);
  const numbers = new Map(stored.map(({ outputId, sequenceNumber }) => [outputId, sequenceNumber]));
  for (const { status, body } of answers) if (status === 201) expect(numbers.get(body.output_id)).toBe(body.sequence_number);
}, 120_000);
