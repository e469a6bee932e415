import { expect, onTestFinished, test } from 'vitest';
import { logLines } from '../../support/log-lines.ts';
import { startMailServer } from '../../support/mail.ts';
import { callTool } from '../../support/mcp.ts';
import { patience } from '../../support/pace.ts';
import {
  eventually,
  internalHeaders,
  type JsonAnswer,
  randomHash,
  stampAgent,
  stampInternal,
  verifyById,
  verifyRaw,
} from '../../support/requests.ts';
import { startPrivateMongo, startPrivateRedis } from '../../support/servers.ts';
import { type Service, serviceToken, startProcesses } from '../../support/service.ts';
import { completeWorkflow, openLink, redactWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const outputOf = (service: Service): string => [service, ...service.workers].map((process) => process.output()).join('');

/** All data that must not be in the logs, gathered during a run; short and common values would match by chance. */
function collectSecrets() {
  const secrets = new Map<string, string>([['service token', serviceToken]]);
  return {
    add: (name: string, value: unknown) => {
      if (typeof value !== 'string' || value.length < 8) throw new Error(`${name} is no text to search for: ${value}`);
      secrets.set(name, value);
    },
    foundIn: (output: string) => [...secrets].filter(([, value]) => output.includes(value)).map(([name]) => name),
  };
}

/** A failed request, and its log line: level warn, with the cause. */
async function expectFailure(service: Service, expected: { status: number; code: string }, { status, headers, body }: JsonAnswer) {
  expect({ status, code: body.code }).toEqual(expected);
  const requestId = headers.get('x-request-id');
  const line = await eventually(async () => logLines(service).find((each) => each.requestId === requestId && 'durationMs' in each));
  expect(line).toMatchObject({ level: 'warn', outcome: 'failed', ...expected, err: { message: expect.any(String) } });
}

async function stampEverything(service: Service, secrets: ReturnType<typeof collectSecrets>): Promise<void> {
  secrets.add('master key', service.settings.MASTER_KEY);
  const metadata = { customer: 'metadata-of-erika' };
  secrets.add('metadata', metadata.customer);
  const hashed = await stampInternal(
    service,
    { hash: randomHash(), metadata },
    {
      'idempotency-key': 'idempotency-key-of-erika',
      'x-request-id': 'follow-me-through',
    },
  );
  secrets.add('stamp token', hashed.body.token);
  secrets.add('idempotency key', 'idempotency-key-of-erika');
  const content = Buffer.from('content that nobody else may read');
  const payment = 'payment-claim-of-erika';
  const sealed = await stampAgent(service, 'sealed', { content_b64: content.toString('base64') }, { 'x-payment-transaction': payment });
  secrets.add('payment claim', payment);
  secrets.add('content', content.toString());
  secrets.add('content in base64', content.toString('base64'));
  secrets.add('sealed stamp token', sealed.body.token);
  const address = String(sealed.body.sealed_storage_url);
  secrets.add('capability', address.slice(address.lastIndexOf('/') + 1));
  expect((await service.fetch(address)).status).toBe(200);
  expect((await service.fetch(`${address}x`)).status).toBe(404);
  await verifyById(service, hashed.body.token_id);
  await verifyRaw(service, hashed.body.token);
  await service.fetch('/api/v1/internal/v1/stamps', { headers: { 'x-service-token': 'wrong-service-token' } });
  secrets.add('wrong service token', 'wrong-service-token');
  const tool = await callTool(service, 'service_stamp_content', { content_b64: content.toString('base64') });
  secrets.add('token by MCP', tool.structuredContent.token);
  await callTool(service, 'service_verify_token', { token: tool.structuredContent.token });
  await service.fetch('/mcp', { method: 'POST', headers: internalHeaders, body: '{"secret-in-malformed-json' });
  secrets.add('malformed body', 'secret-in-malformed-json');
}

async function runWorkflow(service: Service, secrets: ReturnType<typeof collectSecrets>, linkFor: (id: string) => Promise<string>) {
  const address = 'erika.mustermann@example.com';
  secrets.add('e-mail address', address);
  const workflow = await startWorkflow(service, { user_email: address, briefing_metadata: { note: 'briefing-note-of-erika' } });
  secrets.add('workflow token', workflow.token);
  secrets.add('briefing metadata', 'briefing-note-of-erika');
  const link = await linkFor(workflow.id);
  secrets.add('challenge', link.split('/').at(-1));
  const wrong = 'wrong-challenge-of-somebody';
  secrets.add('wrong challenge', wrong);
  await openLink(link.replace(/[^/]*$/, wrong));
  expect((await openLink(link)).status).toBe(200);
  expect((await stampOutput(service, workflow)).status).toBe(201);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
}

/** Sends secrets to every operation of the interface: in the path, the query, the headers and the body. */
async function feedEveryRoute(service: Service, secrets: ReturnType<typeof collectSecrets>): Promise<void> {
  const places = ['path', 'query', 'header', 'body'] as const;
  const [path, query, header, body] = places.map((place) => `secret-in-the-${place}`);
  for (const [index, place] of places.entries()) secrets.add(`secret in the ${place}`, [path, query, header, body][index]);
  const headers = { 'x-service-token': header!, authorization: `Bearer ${header}`, 'x-workflow-token': header!, cookie: header! };
  const { paths } = (await (await service.fetch('/openapi.json')).json()) as { paths: Record<string, object> };
  expect(Object.keys(paths).length).toBeGreaterThan(20);
  for (const [template, operations] of Object.entries(paths))
    for (const method of Object.keys(operations)) {
      const url = `${template.replace(/\{[^}]+\}/g, path!)}?token=${query}`;
      const json = { 'content-type': 'application/json' };
      const fields = { token: body, user_email: `${body}@example.com`, challenge: body, content_b64: body, metadata: { body } };
      const sent = method === 'post' ? { headers: { ...headers, ...json }, body: JSON.stringify(fields) } : { headers };
      await (await service.fetch(url, { method: method.toUpperCase(), ...sent })).arrayBuffer();
    }
}

test('a full run at level trace with failing servers: the logs contain no secret, each line is JSON (S11, W10), and API and worker log the id of a request', async () => {
  const [mail, redis, mongo] = await Promise.all([startMailServer(), startPrivateRedis(), startPrivateMongo()]);
  onTestFinished(async () => void (await Promise.all([redis.dispose(), mongo.dispose()])));
  const service = await startProcesses({
    settings: {
      LOG_LEVEL: 'trace',
      REDIS_URL: redis.url,
      MONGODB_URL: mongo.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'qstamp <no-reply@qstamp.example>',
      STAMP_WAIT_MS: String(patience(2_000)),
      RATE_WORKFLOW_START_PER_HOUR: '0',
    },
  });
  const secrets = collectSecrets();
  await stampEverything(service, secrets);
  await runWorkflow(service, secrets, mail.linkFor);
  await feedEveryRoute(service, secrets);

  const metadata = { customer: 'metadata-during-a-fault' };
  secrets.add('metadata during a fault', metadata.customer);
  await mongo.stop();
  // A store that is going down may still answer but refuse writes: then no request is accepted (E10).
  const pending = await eventually(async () => {
    const answer = await stampInternal(service, { hash: randomHash(), metadata });
    return answer.status !== 503 && answer;
  });
  expect(pending.status).toBe(504);
  await expectFailure(service, { status: 504, code: 'stamp_pending' }, pending);
  await expectFailure(service, { status: 503, code: 'store_unavailable' }, await verifyById(service, pending.body.token_id));
  await mongo.start();
  await redis.stop();
  const unqueued = await stampInternal(service, { hash: randomHash(), metadata });
  await expectFailure(service, { status: 503, code: 'queue_unavailable' }, unqueued);
  await redis.start();
  const result = await eventually(async () => {
    const { status, body } = await verifyById(service, pending.body.token_id);
    return status === 200 && body.valid === true && body;
  });
  expect(result.valid).toBe(true);

  for (const process of [service, ...service.workers]) expect(process.output()).toContain('"follow-me-through"');
  const output = outputOf(service);
  expect(secrets.foundIn(output)).toEqual([]);
  const lines = output.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(20);
  for (const line of lines) expect(() => JSON.parse(line), line).not.toThrow();
});
