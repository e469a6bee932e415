import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { type JobPayload, NotItsTurnError } from '../../../src/shared/queue/jobs.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { createWebhookProcessor } from '../../../src/workers/processors/webhook.ts';
import { WebhookError } from '../../../src/workers/webhooks/sender.ts';

const hourMs = 3_600_000;
const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';

/** A processor whose receiver takes nothing, and what it leaves of its job. `answered`: when the receiver says so. */
function createLab(answered: () => Promise<void> = async () => undefined) {
  let now = 1_000 * hourMs;
  let sent = 0;
  const jobs = new Map<string, JobPayload<'webhook'>>();
  const fresh: JobPayload<'webhook'> = { event: 'workflow.confirmed', workflowId, acceptedAt: now, requestId: 'r' };
  const workflow = { callbackUrl: 'https://example.com/', emailVerifiedAt: new Date(now) };
  const lines: string[] = [];
  const process = createWebhookProcessor({
    stamps: { find: async () => null },
    outputs: { findByTokens: async () => [] },
    workflows: { find: async () => workflow as never },
    stampKey: async () => createSecretKey(Buffer.alloc(32)),
    tokenJudge: { judge: async () => ({ ok: false }) as never } as never,
    wake: async () => 'unknown',
    sendWebhook: async () => {
      sent += 1;
      await answered();
      throw new WebhookError('the receiver answered 500');
    },
    publicBaseUrl: undefined,
    clock: () => now,
    log: createLogger({ level: 'error', process: 'test' as never, destination: { write: (line: string) => void lines.push(line) } }),
  });
  return {
    run: (jobId = 'job') =>
      process(jobs.get(jobId) ?? fresh, {
        jobId,
        keepOnly: async (rest) => {
          jobs.set(jobId, rest as typeof fresh);
        },
      }),
    pass: (ms: number) => {
      now += ms;
    },
    sent: () => sent,
    givenUp: () => lines.filter((line) => line.includes('a webhook was given up')).length,
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

test('N5: what was never sent is given up after two days, while the receiver takes nothing, and not before one was refused', async () => {
  const hangs = Promise.withResolvers<void>();
  let answer: Promise<void> = hangs.promise;
  const { run, pass, sent, givenUp } = createLab(() => answer);
  const eight = Array.from({ length: 8 }, (_, index) => run(`first-${index}`).catch(String));
  pass(49 * hourMs);
  // The workers may have been away for so long.
  await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  hangs.resolve();
  await Promise.all(eight);
  answer = new Promise(() => undefined);
  const before = givenUp();
  void run('probe');
  await run('waits');
  expect({ sent: sent(), givenUp: givenUp() - before }).toEqual({ sent: 9, givenUp: 1 });
});

test('N5: until then it waits for its turn', async () => {
  let answer = Promise.resolve();
  const { run, pass, givenUp } = createLab(() => answer);
  await expect(run('first')).rejects.toThrow('500');
  answer = new Promise(() => undefined);
  void run('probe');
  pass(47 * hourMs);
  await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  expect(givenUp()).toBe(0);
});
