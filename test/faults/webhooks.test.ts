import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { isLong } from '../support/depth.ts';
import { eventually, type JsonAnswer, randomHash, stampInternal } from '../support/requests.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { addWorker, addWorkerProcess, type Service, startService } from '../support/service.ts';
import { arrived, type ReceivedWebhook, startReceiver, webhookSecret } from '../support/webhook-receiver.ts';

const settings = { WEBHOOK_SECRET: webhookSecret };
const count = 40;

const stampAll = (service: Service, callback_url: string): Promise<JsonAnswer[]> =>
  Promise.all(Array.from({ length: count }, () => stampInternal(service, { hash: randomHash(), callback_url })));

/** Checks that each stamp had at least one signed webhook with exactly the text of its 201. */
async function expectTold(received: readonly ReceivedWebhook[], answers: readonly JsonAnswer[]): Promise<void> {
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  const told = () => new Map(received.map((webhook) => [webhook.headers['webhook-id'], webhook] as const));
  await eventually(async () => told().size >= answers.length, 90_000);
  const verifier = new Webhook(webhookSecret);
  for (const { headers, body } of received) verifier.verify(body, headers as Record<string, string>);
  for (const { body } of answers) expect(told().get(`stamp_${body.token_id}`)?.body).toBe(JSON.stringify(body));
}

test('N3: worker killed while it delivers: each webhook arrives at least once', async () => {
  const service = await startService({ workers: 0, settings });
  const worker = await addWorkerProcess(service);
  const receiver = await startReceiver('hang');
  const answers = await stampAll(service, receiver.url);
  await arrived(receiver.received, 8);
  await worker.kill();
  receiver.answer(204);
  receiver.received.splice(0);
  await addWorker(service);
  await expectTold(receiver.received, answers);
});

test('N3: Redis killed while webhooks run and wait: each arrives at least once', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { ...settings, REDIS_URL: redis.url } });
  const receiver = await startReceiver('hang');
  const answers = await stampAll(service, receiver.url);
  await arrived(receiver.received, 8);
  await redis.kill();
  receiver.answer(204);
  receiver.received.splice(0);
  await redis.start();
  await expectTold(receiver.received, answers);
});

test.runIf(isLong)('N3: Redis killed while webhooks wait for a worker: each arrives at least once', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { ...settings, REDIS_URL: redis.url } });
  const receiver = await startReceiver(500);
  const answers = await stampAll(service, receiver.url);
  await arrived(receiver.received, 1);
  await service.workers[0]?.stop();
  await redis.kill();
  receiver.answer(204);
  receiver.received.splice(0);
  await redis.start();
  await addWorker(service);
  // A webhook accepted before the worker stopped would not be sent again; there was none.
  await expectTold(receiver.received, answers);
});
