import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { type JobPayload, NotItsTurnError } from '../../../src/shared/queue/jobs.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { WebhookError } from '../../../src/workers/webhooks/sender.ts';
import { createWebhookProcessor } from '../../../src/workers/webhooks/webhook-job.ts';

const hourMs = 3_600_000;
const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';

/**
 * A processor whose receiver refuses everything, and the rest of its job. `waitedBefore`: how long ago the jobs were accepted when the worker starts;
 * `answered`: when the receiver refuses.
 */
function createLab(options: { waitedBefore?: number; answered?: () => Promise<void>; hasHappened?: boolean } = {}) {
  const { waitedBefore = 0, answered = async () => undefined, hasHappened = true } = options;
  let now = 1_000 * hourMs;
  let jumpedMs = 0;
  let sent = 0;
  const jobs = new Map<string, JobPayload<'webhook'>>();
  const fresh: JobPayload<'webhook'> = { event: 'workflow.confirmed', workflowId, acceptedAt: now - waitedBefore, requestId: 'r' };
  const workflow = { callbackUrl: 'https://example.com/', emailVerifiedAt: hasHappened ? new Date(now) : undefined };
  const lines: string[] = [];
  const process = createWebhookProcessor({
    stamps: { find: async () => null },
    outputs: { findByTokens: async () => [] },
    workflows: { find: async () => workflow as never },
    stampKey: async () => createSecretKey(Buffer.alloc(32)),
    tokenJudge: { judge: async () => ({ ok: false }) as never } as never,
    webhookPlaces: 128,
    sendWebhook: async () => {
      sent += 1;
      await answered();
      throw new WebhookError('the receiver answered 500');
    },
    publicBaseUrl: undefined,
    clock: () => now + jumpedMs,
    monotonic: () => now,
    log: createLogger({ level: 'error', process: 'test' as never, destination: { write: (line: string) => void lines.push(line) } }),
  });
  return {
    run: (jobId = 'job', isRetry = false) =>
      process(jobs.get(jobId) ?? fresh, {
        isRetry,
        keepOnly: async (rest) => {
          jobs.set(jobId, rest as typeof fresh);
        },
      }),
    pass: (ms: number) => {
      now += ms;
    },
    /** Somebody sets the clock. */
    jump: (ms: number) => {
      jumpedMs += ms;
    },
    happen: () => {
      workflow.emailVerifiedAt = new Date(now);
    },
    sent: () => sent,
    givenUp: () => lines.filter((line) => line.includes('a webhook was given up')).length,
  };
}

test('N3: the day of tries begins with the first try, however long the job waited before', async () => {
  const { run, pass, sent } = createLab();
  pass(30 * hourMs);
  await expect(run()).rejects.toThrow('500');
  pass(23 * hourMs);
  await expect(run()).rejects.toThrow('500');
  pass(2 * hourMs);
  await run();
  expect(sent()).toBe(3);
});

test('N5: a webhook that never gets a place is given up after two days, not counting time without a worker', async () => {
  const { run, pass, sent, givenUp } = createLab({ waitedBefore: 100 * hourMs, answered: () => new Promise(() => undefined) });
  for (let place = 0; place < 8; place += 1) void run(`hangs-${place}`);
  await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  pass(48 * hourMs);
  await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  expect(givenUp()).toBe(0);
  pass(1);
  await run('waits');
  expect([sent(), givenUp()]).toEqual([8, 1]);
});

test('E14: a clock that was wrong neither ends the tries of a webhook nor makes them endless', async () => {
  const { run, pass, jump, sent, givenUp } = createLab();
  await expect(run()).rejects.toThrow('500');
  jump(40 * 24 * hourMs);
  await expect(run()).rejects.toThrow('500');
  jump(-80 * 24 * hourMs);
  await expect(run()).rejects.toThrow('500');
  jump(40 * 24 * hourMs);
  await expect(run()).rejects.toThrow('500');
  expect(givenUp()).toBe(0);
  pass(24 * hourMs);
  await run();
  expect([sent(), givenUp()]).toEqual([5, 1]);
});

test('E14: a clock that jumps ahead does not end the wait for a place', async () => {
  const { run, jump, givenUp } = createLab({ answered: () => new Promise(() => undefined) });
  for (let place = 0; place < 8; place += 1) void run(`hangs-${place}`);
  jump(40 * 24 * hourMs);
  await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  expect(givenUp()).toBe(0);
});

test('N3: a webhook whose event has not happened is tried again before it is dropped, whatever the clock says', async () => {
  const { run, jump, happen, sent } = createLab({ hasHappened: false });
  jump(hourMs);
  await expect(run()).rejects.toThrow('has not happened yet');
  await run('job', true);
  happen();
  await expect(run()).rejects.toThrow('500');
  expect(sent()).toBe(1);
});

test('E14: a first try that a wrong clock dated 40 days ahead does not make the tries endless', async () => {
  const { run, pass, jump, givenUp } = createLab();
  jump(40 * 24 * hourMs);
  await expect(run()).rejects.toThrow('500');
  jump(-40 * 24 * hourMs);
  await expect(run()).rejects.toThrow('500');
  pass(24 * hourMs);
  await run();
  expect(givenUp()).toBe(1);
});
