import { afterEach, expect, test, vi } from 'vitest';
import { placesOf } from '../../../src/shared/queue/jobs.ts';
import { jobOptionsOf } from '../../../src/shared/queue/open-queue.ts';
import { readContentsUnderWay } from '../../../src/shared/queue/queue-state.ts';
import { sendReplies } from '../../../src/shared/queue/replies.ts';
import { createHandOver } from '../../../src/shared/queue/sender.ts';
import { eventually } from '../../support/eventually.ts';
import { asker, openQueueLab } from '../../support/queue-lab.ts';
import { stampItem } from '../../support/stamp-items.ts';

afterEach(() => void vi.useRealTimers());

const promise = () => ({ ...stampItem(), isPromised: true });
const output = {
  workflowId: '0198c0de-0000-7000-8000-000000000001',
  briefingHash: 'b'.repeat(64),
  outputId: '0198c0de-0000-7000-8000-000000000002',
  type: 'text',
};

test('R7: promised stamps get their own queue; outputs never do (W8); the depth and the oldest job are those of both', async () => {
  const { openApiEnd, stamps, promised } = await openQueueLab();
  const { submission, watch } = await openApiEnd(1_000);
  const [promisedItem, waitedFor, ofWorkflow] = [promise(), stampItem(), { ...promise(), output }];
  for (const item of [promisedItem, waitedFor, ofWorkflow]) await submission.submit([item], asker());
  const itemsIn = async (one: typeof stamps) => (await one.getJobs(['wait'], 0, -1, true)).flatMap(({ data }) => data.items);
  expect([await itemsIn(promised), await itemsIn(stamps)]).toEqual([[promisedItem], [waitedFor, ofWorkflow]]);
  const [oldest] = await promised.getJobs(['wait']);
  expect(await watch.read()).toEqual({ waiting: 3, oldestAt: oldest!.timestamp, failedJobs: 0 });
  expect([1, 3, 4, 256].map((concurrency) => placesOf('promised-stamps', concurrency))).toEqual([1, 1, 1, 64]);
});

test('E11: a worker that dies after the hand-over repeats it without effect; other items of the same job are added; their contents are in use', async () => {
  const { redis, log, promised } = await openQueueLab();
  const { handOver, close } = createHandOver({ redis, log });
  const [first, second, third] = [stampItem(), { ...stampItem(), sealed: { contentId: 'abc', secretSha256: '', bytes: 1 } }, stampItem()];
  for (const items of [[first, second], [first, second], [third]]) await handOver('api', items);
  await close();
  const jobs = await promised.getJobs(['wait'], 0, -1, true);
  expect(jobs.map(({ name, data }) => ({ name, data }))).toEqual(
    [[first, second], [third]].map((items) => ({
      name: 'promised-stamp',
      data: { form: 1, replyTo: 'api', isRepeated: true, items: items.map((item) => ({ ...item, isPromised: true })) },
    })),
  );
  expect(await readContentsUnderWay({ redis, log })).toEqual(new Set(['abc']));
});

test('R7: a caller has half of the depth; replies make room; lost replies do after an hour', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { openApiEnd, stamps, redis, log } = await openQueueLab();
  const { submission } = await openApiEnd(6);
  const refused = expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 5 });
  const mayHave = (items: number) => {
    try {
      submission.checkCapacity('product:a', items);
      return true;
    } catch {
      return false;
    }
  };
  const [first, second] = [stampItem(), stampItem()];
  await submission.submit([first, second], asker('product:a'));
  expect(mayHave(1)).toBe(true);
  expect(() => submission.checkCapacity('product:a', 2)).toThrow(refused);
  expect(() => submission.checkCapacity('product:b', 3)).not.toThrow();
  expect(() => submission.checkCapacity('product:b', 4)).toThrow('this request has 4: send at most 3 at once');

  const [job] = await stamps.getJobs(['wait']);
  const failed = [first.tokenId, first.tokenId, 'unknown'].map(
    (tokenId) => ({ outcome: 'failed', tokenId, code: 'stamp_failed' }) as const,
  );
  await sendReplies({ redis, log }, job!.data.replyTo, failed);
  await eventually(async () => mayHave(2));
  expect(() => submission.checkCapacity('product:a', 3)).toThrow(refused);
  vi.advanceTimersByTime(3_601_000);
  expect(mayHave(3)).toBe(true);
});

test('E11: a promised stamp that was given up is counted, listed and retried like any other', async () => {
  const { promised, failedJobs, consume, untilRetried, openApiEnd } = await openQueueLab();
  const { watch } = await openApiEnd(10);
  let isBroken = true;
  const given: string[] = [];
  consume(
    async () => {
      if (isBroken) throw new Error('a broken invariant');
    },
    { onGivenUp: async ({ name }) => void given.push(name) },
  );
  await promised.add('promised-stamp', { replyTo: 'nobody', items: [promise()] }, { ...jobOptionsOf('promised-stamp'), jobId: 'broken' });
  await untilRetried(async () => (await watch.read()).failedJobs === 1 && given.length === 1);
  const listed = [];
  for await (const { id, kind, job } of failedJobs.list()) listed.push([id, kind, job?.name]);
  expect([listed, given]).toEqual([[['broken', 'promised-stamp', 'promised-stamp']], ['promised-stamp']]);
  isBroken = false;
  await failedJobs.retry('broken');
  await eventually(async () => (await promised.getJob('broken')) === undefined);
});
