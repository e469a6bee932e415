import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyWebhook } from '../../../clients/typescript/src/webhook.ts';
import { createCallbackRule } from '../../../src/api/http/credentials.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { idleService } from '../../support/idle-service.ts';
import { type MailServer, startMailServer } from '../../support/mail.ts';
import { dumpRedis } from '../../support/redis-dump.ts';
import { eventually, internalHeaders, type JsonObject, postJson, randomHash, stampAgent, stampInternal } from '../../support/requests.ts';
import { addWorker, type RunningService, type Service, sharedService, startService } from '../../support/service.ts';
import { arrived, type ReceivedWebhook, webhookSecret as secret, startReceiver } from '../../support/webhook-receiver.ts';
import {
  completeWorkflow,
  openLink,
  postEmpty,
  redactWorkflow,
  stampOutput,
  startRequest,
  startWorkflow,
} from '../../support/workflows.ts';

const newSecret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;

let service: Service;
let mail: MailServer;
beforeAll(async () => {
  mail = await startMailServer({ keep: true });
  const mails = { SMTP_URL: mail.url, MAIL_FROM: 'q@qstamp.example', RATE_WORKFLOW_START_PER_HOUR: '0' };
  const settings = { ...mails, WEBHOOK_SECRET: `${secret} ${newSecret}`, WORKER_CONCURRENCY: '16' };
  service = await startService({ keep: true, settings });
});
afterAll(async () => {
  await service.stop();
  await mail.close();
});

/** Three verifiers: npm `standardwebhooks` with either secret, and our own client. */
async function verified({ headers, body }: ReceivedWebhook): Promise<JsonObject> {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  for (const each of [secret, newSecret]) expect(new Webhook(each).verify(body, named)).toEqual(JSON.parse(body));
  expect(() => new Webhook(secret).verify(`${body} `, named)).toThrow();
  return (await verifyWebhook(body, named, { secret })) as JsonObject;
}

describe('N2, N3: webhooks of stamps', () => {
  test('contain exactly the answer of the 201, signed', async () => {
    const { url, received } = await startReceiver();
    const { status, body } = await stampInternal(service, { hash: randomHash(), tier: 'plus', callback_url: url });
    expect(status).toBe(201);
    const [webhook] = await arrived(received);
    const named = { 'content-type': 'application/json', 'qstamp-event': 'stamp.made', 'webhook-id': `stamp_${body.token_id}` };
    expect(webhook).toMatchObject({ headers: named, body: JSON.stringify(body) });
    await verified(webhook!);
  });

  test('contain the secret address of sealed content too; a replay sends nothing again', async () => {
    const { url, received } = await startReceiver();
    const request = { content_b64: 'aGVsbG8=', tier: 'sealed', callback_url: url };
    const key = { 'idempotency-key': `key-${randomHash()}` };
    const { body } = await stampInternal(service, request, { ...key, prefer: 'respond-async' });
    const { token_id, sealed_storage_url } = body;
    expect(await verified((await arrived(received))[0]!)).toMatchObject({ token_id, sealed_storage_url });
    expect((await stampInternal(service, request, key)).status).toBe(201);
    expect(received).toHaveLength(1);
  });

  test('are sent again with the same id until accepted; redirections are not followed', async () => {
    const { url, received } = await startReceiver(500, 302, 200);
    await stampInternal(service, { hash: randomHash(), callback_url: url }, { prefer: 'respond-async' });
    const webhooks = await arrived(received, 3);
    expect(new Set(webhooks.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const webhook of webhooks) await verified(webhook);
  });

  test('N5: a product with many hanging receivers does not delay the webhook of another product', async () => {
    const stampFor = (callback_url: string, count: number, headers = {}) =>
      Promise.all(Array.from({ length: count }, () => stampInternal(service, { hash: randomHash(), callback_url }, headers)));
    const hanging = await Promise.all(Array.from({ length: 8 }, () => startReceiver('hang')));
    const sent = () => hanging.flatMap(({ received }) => received);
    // More than the 16 places of this worker.
    for (const { url } of hanging) await stampFor(url, 3);
    await eventually(async () => sent().length >= 4);
    const other = await startReceiver();
    await stampFor(other.url, 3, { 'x-service-token': 'other-service-token' });
    await arrived(other.received, 3);
    // If they had waited for the other deliveries to end, the next 4 of those would be running.
    expect(sent().length).toBeLessThan(8);

    for (const { release } of hanging) release();
    await eventually(async () => new Set(sent().map(({ headers }) => headers['webhook-id'])).size === 24, 60_000);
  });

  test('are not lost while no worker runs', async () => {
    const idle = await idleService();
    const { url, received } = await startReceiver();
    const { status, body } = await stampInternal(idle, { hash: randomHash(), callback_url: url });
    expect(status).toBe(504);
    await addWorker(idle);
    const [webhook] = await arrived(received);
    expect(JSON.parse(webhook?.body ?? '')).toMatchObject({ token_id: body.token_id });
  });
});

describe('N2: forbidden addresses', () => {
  const refused = async (callback_url: unknown, at: RunningService = service) => {
    const { status, body } = await stampInternal(at, { hash: randomHash(), callback_url });
    return { status, detail: body.detail as { loc: unknown; msg: string }[] };
  };

  test.each(['no address', 'ftp://example.com/', 'https://user:password@example.com/', '', 7])('%j is 422', async (url) => {
    const { status, detail } = await refused(url);
    expect([status, detail[0]?.loc]).toEqual([422, ['body', 'callback_url']]);
  });

  test('agents, their batches and workflows without a service token get 422 that explains who may use it', async () => {
    const callback_url = 'https://example.com/';
    const { status, body } = await stampAgent(service, 'basic', { hash: randomHash(), callback_url });
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('service token')]);
    const many = await postJson(service, '/api/v1/agent/v1/stamps', [{ hash: randomHash(), callback_url }]);
    expect(many.body).toMatchObject([{ index: 0, status: 422, detail: [{ loc: ['body', 0, 'callback_url'] }] }]);
    const start = await postJson(service, '/api/v1/workflow/start', startRequest({ callback_url }));
    expect([start.status, JSON.stringify(start.body)]).toEqual([422, expect.stringContaining('service token')]);
  });

  test('without a secret it is 422; in production only https and public addresses are allowed', async () => {
    expect((await refused('https://example.com/', await sharedService())).detail[0]?.msg).toContain('WEBHOOK_SECRET');
    const production = { NODE_ENV: 'production', SERVICE_TOKENS: `test:${randomHash()}`, TSP: 'mock', SMTP_URL: '' };
    const config = loadConfig({ ...service.settings, ...production, PUBLIC_BASE_URL: 'https://stamps.example' });
    const refusalOf = createCallbackRule(config);
    const private_ = ['127.0.0.1', '10.1.2.3', '169.254.169.254', '[::1]', '[::ffff:10.0.0.1]', '[fd00::1]', 'localhost', '0x7f.1'];
    for (const host of [...private_, '2130706433']) expect(refusalOf(`https://${host}/`), host).toContain('private');
    expect(refusalOf('http://example.com/')).toContain('https://');
    expect(refusalOf('https://example.com/')).toBeUndefined();
  });
});

/** A workflow of a product with a webhook, and its mailed links. */
async function startWithWebhook(...statuses: Parameters<typeof startReceiver>) {
  const { url, received } = await startReceiver(...statuses);
  const user_email = `${randomHash().slice(0, 12)}@example.com`;
  const workflow = await startWorkflow(service, { user_email, callback_url: url }, internalHeaders);
  const linksOf = () => mail.mails.flatMap(({ links }) => links).filter((link) => link.includes(workflow.id));
  const link = (count = 1) => eventually(async () => linksOf().length >= count && linksOf()[count - 1]!);
  return { workflow, received, link };
}

test('N4: a workflow sends a webhook when its link was opened, and when it is completed', async () => {
  const { workflow, received, link } = await startWithWebhook();
  expect((await openLink(await link())).status).toBe(200);
  await arrived(received);
  await stampOutput(service, workflow);
  const { body } = await completeWorkflow(service, workflow);
  const [confirmed, completed] = await arrived(received, 2);
  expect([confirmed, completed].map((one) => one?.headers['qstamp-event'])).toEqual(['workflow.confirmed', 'workflow.completed']);
  expect(await verified(confirmed!)).toEqual({ workflow_id: workflow.id, status: 'active' });
  expect(await verified(completed!)).toEqual(body);
});

test('N4: redaction also stops the webhooks that wait for a retry, those of outputs too', async () => {
  const { workflow, received: ofWorkflow, link } = await startWithWebhook(500);
  const { url, received: ofOutput } = await startReceiver(500);
  expect((await openLink(await link())).status).toBe(200);
  expect((await stampOutput(service, workflow, { callback_url: url }, internalHeaders)).status).toBe(201);
  await Promise.all([arrived(ofWorkflow), arrived(ofOutput)]);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  const before = [ofWorkflow.length, ofOutput.length];
  const dropped = () => service.workers.flatMap((worker) => worker.output().match(/a webhook was dropped/g) ?? []).length;
  await eventually(async () => dropped() === 2);
  // A delivery may have been under way during the redaction, but each is dropped at its next try.
  for (const [place, count] of [ofWorkflow.length, ofOutput.length].entries()) expect(count - before[place]!).toBeLessThanOrEqual(1);
});

test('N4: only the right challenge queues a webhook: ten wrong ones, a new link and the right one give one', async () => {
  const { workflow, received, link } = await startWithWebhook();
  const tryOther = async (mailed: string) => (await openLink(mailed.replace(/[^/]*$/, randomBytes(32).toString('base64url')))).status;
  /** Keys of BullMQ's jobs about this workflow. */
  const queued = async () => (await dumpRedis(service.settings.REDIS_URL ?? '')).match(/:webhooks:confirmed-/g)?.length ?? 0;
  const statuses: number[] = [];
  for (let count = 0; count < 10; count += 1) statuses.push(await tryOther(await link()));
  expect(statuses).toEqual([403, 403, 403, 403, 403, 410, 410, 410, 410, 410]);
  expect((await postEmpty(service, `/api/v1/workflow/${workflow.id}/resend`, workflow.headers)).status).toBe(202);
  const second = await link(2);
  expect([await tryOther(second), await queued()]).toEqual([403, 0]);
  expect((await openLink(second)).status).toBe(200);
  await arrived(received);
  await eventually(async () => (await queued()) === 0);
  expect(received.map(({ headers }) => headers['qstamp-event'])).toEqual(['workflow.confirmed']);
});
