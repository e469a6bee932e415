import { expect, test } from 'vitest';
import { startMailServer } from '../../support/mail.ts';
import { eventually, getJson, randomHash, stampAgent } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { completeWorkflow, openLink, stampOutput, startWorkflow } from '../../support/workflows.ts';

test('W19: a tier that cannot be served is refused before anything is closed or queued, and does not count as a failure', async () => {
  const mail = await startMailServer();
  const service = await startService({ settings: { SMTP_URL: mail.url, RATE_AGENT_PER_MINUTE: '2' } });
  const workflow = await startWorkflow(service, { tier: 'qualified' });
  await openLink(await mail.linkFor(workflow.id));
  const refused = { status: 502, body: { code: 'tier_unavailable' } };
  for (let tries = 0; tries < 4; tries += 1) expect(await stampOutput(service, workflow)).toMatchObject(refused);
  expect(await completeWorkflow(service, workflow)).toMatchObject(refused);

  const state = await getJson(service, `/api/v1/workflow/${workflow.id}`);
  expect(state.body).toMatchObject({ status: 'active', output_count: 0 });
  const status = await eventually(async () => {
    const { body } = await getJson(service, '/api/v1/status');
    return (body.provider as { status: string }).status === 'operational' ? body : undefined;
  });
  expect(status).toMatchObject({ status: 'operational', counters: { lifetime: { failed: 0 } }, queue: { depth: 0 } });

  // A replay never counts for a limit (two a minute here).
  const request = { hash: randomHash() };
  const key = { 'idempotency-key': 'agent' };
  expect((await stampAgent(service, 'basic', request, key)).status).toBe(201);
  expect((await stampAgent(service, 'basic', { hash: randomHash() })).status).toBe(201);
  expect((await stampAgent(service, 'basic', { hash: randomHash() })).status).toBe(429);
  const replay = await stampAgent(service, 'basic', request, key);
  expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
});
