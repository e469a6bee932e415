import { createSecretKey, type KeyObject } from 'node:crypto';
import { EJSON } from 'bson';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { decryptText } from '../../../src/shared/domain/encryption.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { type MailServer, smtpReply, startMailServer } from '../../support/mail.ts';
import { dumpRedis } from '../../support/redis-dump.ts';
import { eventually, getJson, verifyById } from '../../support/requests.ts';
import { type Service, startService } from '../../support/service.ts';
import { dumpDatabase, keysIn } from '../../support/thief.ts';
import { completeWorkflow, openLink, redactWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

let mail: MailServer;
let service: Service;
beforeAll(async () => {
  let refusals = 1;
  mail = await startMailServer({
    keep: true,
    onRcptTo: (recipient, _session, done) => done(refusals-- > 0 ? smtpReply(450, `4.2.0 <${recipient.address}> is busy`) : null),
  });
  service = await startService({ keep: true, settings: { SMTP_URL: mail.url, LOG_LEVEL: 'trace' } });
});
afterAll(async () => {
  await service.stop();
  await mail.close();
});

/** All stored data and all output of a service, as texts. */
async function everythingOf(service: Service): Promise<Record<string, string>> {
  const db = await openDatabase(service);
  const dumps: Record<string, string> = {};
  for (const { name } of await db.listCollections().toArray()) {
    dumps[`collection ${name}`] = EJSON.stringify(await collectionOf(db, name).find().toArray());
  }
  dumps.redis = await dumpRedis(service.settings.REDIS_URL ?? '');
  dumps.logs = service.output() + service.workers.map((worker) => worker.output()).join('');
  return dumps;
}

const address = 'Very.Distinctive+w10@privacy.example';
const inBase64 = Buffer.from(address).toString('base64').slice(0, 30);

/** Everything of a service, in which no form of the address is. */
async function expectNoTrace(service: Service): Promise<Record<string, string>> {
  const everything = await everythingOf(service);
  for (const [place, dump] of Object.entries(everything))
    for (const trace of [address, address.toLowerCase(), 'istinctive', inBase64, encodeURIComponent(address)])
      expect(dump.includes(trace), `${place} holds ${trace}`).toBe(false);
  return everything;
}

test('W10: the address is never in plain text: database, queue, limits, logs; after redaction root and proofs still verify', async () => {
  const named = { user_email: address, agent_id: `agent of ${address}`, briefing_metadata: { client: address } };
  const workflow = await startWorkflow(service, named);
  const link = await mail.linkFor(workflow.id);
  expect((await openLink(link)).status).toBe(200);
  const metadata = { output_metadata: { note: `for ${address}` } };
  const first = await stampOutput(service, workflow, metadata, { 'idempotency-key': address });
  expect(first.status).toBe(201);
  await expectNoTrace(service);
  await completeWorkflow(service, workflow);

  const body = { workflow_id: workflow.id, status: 'completed', user_email: '[REDACTED]' };
  for (const _ of ['first', 'again']) expect(await redactWorkflow(service, workflow)).toMatchObject({ status: 200, body });

  await expectNoTrace(service);
  const html = await (await service.fetch(`/workflow/${workflow.id}`)).text();
  expect(html.match(/\[REDACTED\], erased on request/g)).toHaveLength(2);
  expect(html).not.toContain('privacy.example');
  const stampIds = [...html.matchAll(/verify\/v1\/token\/([0-9a-f-]{36})/g)].map(([, id]) => id);
  expect(stampIds).toHaveLength(3);
  for (const id of stampIds) expect((await verifyById(service, id)).body.valid).toBe(true);
});

test('W10: while mails wait, challenge and address are nowhere in Redis; after redaction no mail is sent, and later stamps do not restore metadata', async () => {
  const mail = await startMailServer();
  const service = await startService({ workers: 0, settings: { SMTP_URL: mail.url, STAMP_WAIT_MS: '300' } });
  const [workflow, other] = [await startWorkflow(service, { user_email: address }), await startWorkflow(service, { user_email: address })];
  const metadata = { output_metadata: { note: address } };
  // Accepted before the redaction, processed after it.
  expect((await stampOutput(service, workflow, metadata)).status).toBe(504);
  const waiting = await expectNoTrace(service);
  for (const { id } of [workflow, other]) expect(waiting.redis).toContain(id);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  expect((await stampOutput(service, workflow, metadata)).status).toBe(504);
  await service.startWorker();
  await eventually(async () => (await (await service.fetch(`/workflow/${workflow.id}`)).text()).includes('id="output-2"'));
  await eventually(async () => !(await dumpRedis(service.settings.REDIS_URL ?? '')).includes(`:otp-${workflow.id} `));
  const challenge = (await mail.linkFor(other.id)).split('/').at(-1) ?? '';
  expect(challenge).toMatch(/^[\w-]{43}$/);
  expect(mail.mails).toHaveLength(1);
  for (const secret of [challenge, workflow.token, other.token]) {
    expect(waiting.redis).not.toContain(secret);
    expect(await dumpRedis(service.settings.REDIS_URL ?? '')).not.toContain(secret);
  }
  await eventually(async () => !JSON.stringify(await everythingOf(service)).includes('istinctive'));
});

test('W10: redaction destroys the key: copied data opens with the old key only, and no remaining key opens it', async () => {
  const told = { user_email: address, agent_id: 'Erika-s agent', briefing_metadata: { client: address } };
  const workflow = await startWorkflow(service, told);
  const { body } = await stampOutput(service, workflow, { output_metadata: { note: address } });
  const state = () => getJson(service, `/api/v1/workflow/${workflow.id}`, workflow.headers);
  expect((await state()).body).toMatchObject(told);

  const db = await openDatabase(service);
  const copy = await dumpDatabase(db);
  const output = copy.outputs?.find(({ tokenId }) => tokenId === body.stamp_token_id);
  const encrypted = [
    { context: `metadata:${body.stamp_token_id}`, text: String(output?.metadata) },
    { context: `workflow-words:${workflow.id}`, text: String(copy.workflows?.find(({ _id }) => _id === workflow.id)?.words) },
  ];
  const store = openStore(loadConfig(service.settings), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const opens = (key: KeyObject | undefined) =>
    encrypted.filter(({ context, text }) => key && decryptText(key, context, text)?.includes(address));
  expect(opens((await store.workflows.find(workflow.id))?.wordsKey)).toHaveLength(2);

  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  expect((await state()).body).toMatchObject({ user_email: '[REDACTED]', agent_id: '[REDACTED]', briefing_metadata: null });
  expect((await store.workflows.find(workflow.id))?.wordsKey).toBeUndefined();
  // A wrapped key that stayed would open copied data.
  expect(await collectionOf(db, 'workflows').findOne({ _id: workflow.id })).not.toHaveProperty('wrappedKey');
  const ours = await Promise.all(
    (['mock-provider', 'idempotency', 'challenge', 'workflows', 'stamp-metadata'] as const).map((name) => store.keys.secret(name)),
  );
  const left = [...keysIn(await dumpDatabase(db)), ...keysIn(service.settings.MASTER_KEY)].map((bytes) => createSecretKey(bytes));
  for (const key of [...ours, ...left]) expect(opens(key)).toEqual([]);
});

test('W10: redaction does not change the status of a workflow', async () => {
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  const reach: [string, (workflow: StartedWorkflow) => Promise<unknown>][] = [
    ['pending', async () => undefined],
    ['active', async ({ id }) => openLink(await mail.linkFor(id))],
    ['expired', ({ id }) => workflows.updateOne({ _id: id }, { $set: { expiresAt: new Date() } })],
  ];
  for (const [status, happen] of reach) {
    const workflow = await startWorkflow(service);
    await happen(workflow);
    for (const _ of ['first', 'again']) expect((await redactWorkflow(service, workflow)).body.status).toBe(status);
    expect((await getJson(service, `/api/v1/workflow/${workflow.id}`)).body.status).toBe(status);
  }
});
