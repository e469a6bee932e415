import { expect, test } from 'vitest';
import { type JobPayload, NotItsTurnError } from '../../../src/shared/queue/jobs.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { WebhookError } from '../../../src/workers/webhooks/sender.ts';
import { createWebhookProcessor } from '../../../src/workers/webhooks/webhook-job.ts';
import { openTestStore, workerTools } from '../../support/worker-tools.ts';

const hourMs = 3_600_000;
const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';

/**
 * A processor whose receiver refuses everything, and the rest of its jobs. `waitedBefore`: how long ago they were accepted when the worker starts;
 * `answered`: when the receiver refuses.
 */
function createLab(options: { waitedBefore?: number; answered?: () => Promise<void>; hasHappened?: boolean } = {}) {
  const { waitedBefore = 0, answered = async () => undefined, hasHappened = true } = options;
  const state = { now: 1_000 * hourMs, jumpedMs: 0, sent: 0 };
  const jobs = new Map<string, JobPayload<'webhook'>>();
  const fresh: JobPayload<'webhook'> = { event: 'workflow.confirmed', workflowId, acceptedAt: state.now - waitedBefore, requestId: 'r' };
  const workflow = {
    callbackUrl: 'https://example.com/',
    callbackProduct: 'test',
    emailVerifiedAt: hasHappened ? new Date(state.now) : undefined,
  };
  const lines: string[] = [];
  const store = openTestStore();
  const tools = workerTools({
    store: { ...store, workflows: { ...store.workflows, find: async () => workflow as never } },
    clock: () => state.now + state.jumpedMs,
    monotonic: () => state.now,
    log: createLogger({ level: 'error', process: 'test' as never, destination: { write: (line: string) => void lines.push(line) } }),
  });
  const process = createWebhookProcessor(tools, async () => {
    state.sent += 1;
    await answered();
    throw new WebhookError('the receiver answered 500');
  });
  const run = (jobId = 'job', isRetry = false) =>
    process(jobs.get(jobId) ?? fresh, {
      jobId,
      isRetry,
      isOurs: async () => true,
      keepOnly: async (rest) => void jobs.set(jobId, rest as typeof fresh),
    });
  /** Tries after so many hours each, of which the receiver refuses all. */
  const refused = async (...hours: number[]) => {
    for (const passed of hours) {
      state.now += passed * hourMs;
      await expect(run()).rejects.toThrow('500');
    }
  };
  const givenUp = () => lines.filter((line) => line.includes('a webhook was given up')).length;
  return { state, run, refused, workflow, counts: () => [state.sent, givenUp()] };
}
/** One whose places are all taken by webhooks that hang. */
function createFullLab(waitedBefore = 0) {
  const lab = createLab({ waitedBefore, answered: () => new Promise(() => undefined) });
  for (let place = 0; place < 8; place += 1) void lab.run(`hangs-${place}`);
  return lab;
}

test('N3: the day of tries begins with the first try, however long the job waited before', async () => {
  const { state, run, refused, counts } = createLab();
  await refused(30, 23);
  state.now += 2 * hourMs;
  await run();
  expect(counts()).toEqual([3, 1]);
});

test('N5: a webhook that never gets a place is given up after two days, not counting time without a worker', async () => {
  const { state, run, counts } = createFullLab(100 * hourMs);
  for (const passed of [0, 48 * hourMs]) {
    state.now += passed;
    await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  }
  expect(counts()).toEqual([8, 0]);
  state.now += 1;
  await run('waits');
  expect(counts()).toEqual([8, 1]);
});

test.each([
  ['right, then ahead, behind and right', [0, 40, -40, 0]],
  ['40 days ahead at the first try', [40, 0]],
])('E14: a clock that was %s neither ends the tries of a webhook nor makes them endless', async (_what, days) => {
  const { state, run, refused, counts } = createLab();
  for (const ahead of days) {
    state.jumpedMs = ahead * 24 * hourMs;
    await refused(0);
  }
  expect(counts()).toEqual([days.length, 0]);
  state.now += 24 * hourMs;
  await run();
  expect(counts()).toEqual([days.length + 1, 1]);
});

test('E14: a clock that jumps ahead does not end the wait for a place', async () => {
  const { state, run, counts } = createFullLab();
  state.jumpedMs = 40 * 24 * hourMs;
  await expect(run('waits')).rejects.toThrow(NotItsTurnError);
  expect(counts()).toEqual([8, 0]);
});

test('N3: a webhook whose event has not happened is tried again before it is dropped, whatever the clock says', async () => {
  const { state, run, refused, workflow, counts } = createLab({ hasHappened: false });
  state.jumpedMs = hourMs;
  await expect(run()).rejects.toThrow('has not happened yet');
  await run('job', true);
  workflow.emailVerifiedAt = new Date(state.now);
  await refused(0);
  expect(counts()).toEqual([1, 0]);
});
