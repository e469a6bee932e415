import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import type { JobPayload } from '../../../src/shared/queue/jobs.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { createWebhookProcessor } from '../../../src/workers/processors/webhook.ts';
import { WebhookError } from '../../../src/workers/webhooks/sender.ts';

const hourMs = 3_600_000;
const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';

/** A processor whose receiver takes nothing, and what it leaves of its job. */
function createLab() {
  let now = 1_000 * hourMs;
  let sent = 0;
  let job: JobPayload<'webhook'> = { event: 'workflow.confirmed', workflowId, acceptedAt: now, requestId: 'r' };
  const workflow = { callbackUrl: 'https://example.com/', emailVerifiedAt: new Date(now) };
  const process = createWebhookProcessor({
    stamps: { find: async () => null },
    outputs: { findByTokens: async () => [] },
    workflows: { find: async () => workflow as never },
    stampKey: async () => createSecretKey(Buffer.alloc(32)),
    tokenJudge: { judge: async () => ({ ok: false }) as never } as never,
    wake: async () => 'unknown',
    sendWebhook: async () => {
      sent += 1;
      throw new WebhookError('the receiver answered 500');
    },
    publicBaseUrl: undefined,
    clock: () => now,
    log: createLogger({ level: 'silent', process: 'test' as never, destination: { write: () => undefined } }),
  });
  return {
    run: () =>
      process(job, {
        jobId: 'job',
        keepOnly: async (rest) => {
          job = rest as typeof job;
        },
      }),
    pass: (ms: number) => {
      now += ms;
    },
    sent: () => sent,
  };
}

test('N3: the day for which it is tried begins with the first try, however long the job waited before', async () => {
  const { run, pass, sent } = createLab();
  pass(30 * hourMs);
  await expect(run()).rejects.toThrow('500');
  pass(23 * hourMs);
  await expect(run()).rejects.toThrow('500');
  pass(2 * hourMs);
  await run();
  expect(sent()).toBe(3);
});
