import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { collectionOf, openDatabase } from '../support/database.ts';
import { startMailServer } from '../support/mail.ts';
import { patience } from '../support/pace.ts';
import { eventually, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { type PrivateServer, startPrivateRedis } from '../support/servers.ts';
import { type Settings, startService } from '../support/service.ts';
import { completeWorkflow, openLink, postEmpty, startRequest, startWorkflow, startWorkflowRaw } from '../support/workflows.ts';

async function startOnRedis(settings: Settings) {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  return { redis, service: await startService({ settings: { REDIS_URL: redis.url, RATE_WORKFLOW_START_PER_HOUR: '0', ...settings } }) };
}

/** Redis is silent for three seconds, or until `send` has its answer: by then its command has left and the wait has ended. */
async function whileFrozen<T>(redis: PrivateServer, send: () => Promise<T>): Promise<T> {
  await redis.pause();
  const answer = send();
  await Promise.race([answer, delay(patience(3_000))]);
  await redis.resume();
  return answer;
}

test('E11: a stamp whose job left but never arrived gets 504, and its address later says that there is none', async () => {
  const { redis, service } = await startOnRedis({ STAMP_WAIT_MS: '2000' });
  await redis.pause();
  const { status, headers, body } = await stampInternal(service, { content_b64: 'AAAA', tier: 'sealed' });
  expect([status, body.code, headers.get('retry-after')]).toEqual([504, 'stamp_pending', '5']);
  expect(body.detail).toContain('did not confirm');
  expect(body.verify_url).toBe(`/api/v1/verify/v1/token/${body.token_id}`);
  expect((await verifyById(service, body.token_id)).body).toMatchObject({ valid: false });
  await redis.kill();
  await redis.start();
  await eventually(async () => (await stampInternal(service, { hash: randomHash() })).status === 201);
  const reason = expect.stringContaining('No stamp has this id.');
  expect((await verifyById(service, body.token_id)).body).toMatchObject({ valid: false, reason });
});

test('E11: a workflow is started, mailed and closed while Redis freezes: each answer has its address, and each step happens once', async () => {
  const mail = await startMailServer();
  const { redis, service } = await startOnRedis({ SMTP_URL: mail.url, STAMP_WAIT_MS: '8000' });
  const started = await whileFrozen(redis, () => startWorkflowRaw(service, startRequest()));
  const id = String(started.body.workflow_id);
  const pending = { status: 504, body: { code: 'mail_pending', status_url: `/api/v1/workflow/${id}` } };
  expect(started).toMatchObject(pending);
  await mail.linkFor(id);
  const headers = { authorization: `Workflow ${started.body.workflow_token}` };

  expect(await whileFrozen(redis, () => postEmpty(service, `/api/v1/workflow/${id}/resend`, headers))).toMatchObject(pending);
  await eventually(async () => mail.mails.length === 2);
  expect((await openLink(mail.mails[1]?.links[0] ?? '')).status).toBe(200);

  const workflow = await startWorkflow(service);
  expect((await whileFrozen(redis, () => completeWorkflow(service, workflow))).status).toBe(200);
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  expect(await workflows.countDocuments({})).toBe(2);
  await eventually(async () => mail.mails.length === 3);
});
