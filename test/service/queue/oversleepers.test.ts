import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openQueue } from '../../../src/shared/queue/open-queue.ts';
import { watchOversleepers } from '../../../src/shared/queue/schedules.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { openQueueLab } from '../../support/queue-lab.ts';
import { eventually, randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { addWorker, startPart, startService, testSettings } from '../../support/service.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The queue lab with checks like those of so many workers. */
async function openLab() {
  const lab = await openQueueLab();
  const { redis, log } = lab;
  const webhooks = openQueue('webhooks', { redis, log });
  onTestFinished(() => webhooks.close());
  const startWatches = (count: number) => {
    for (let index = 0; index < count; index += 1) {
      const watch = watchOversleepers({ redis, schedules: [], log });
      onTestFinished(watch.stop);
    }
  };
  return { ...lab, webhooks, startWatches };
}

test('E14: a promised stamp that a worker with a wrong clock put off for 40 days is made soon after another worker starts', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '300' } });
  const { status, body } = await stampInternal(service, { hash: randomHash() });
  expect(status).toBe(504);
  const { redis, stamps } = await openQueueLab(service.settings.REDIS_URL);
  const jobId = String(await redis.rpop(stamps.toKey('wait')));
  await redis.zadd(stamps.toKey('delayed'), (Date.now() + 40 * dayMs) * 0x1000, jobId);
  await addWorker(service);
  expect(await eventually(async () => (await verifyById(service, body.token_id)).body.valid)).toBe(true);
});

test('E14: a schedule that a worker wrote while its clock was 41 days ahead runs again at its interval after another worker starts', async () => {
  const settings = await testSettings();
  const redis = new Redis(settings.REDIS_URL!);
  onTestFinished(() => redis.disconnect());
  const schedules = [
    ['maintenance', 'sweep', hourMs],
    ['maintenance', 'recount', hourMs],
    ['renewals', 'qstamp-renew', dayMs],
  ] as const;
  const nextRuns = () =>
    Promise.all(
      schedules.map(async ([queue, name, everyMs]) => {
        const next = Number(await redis.zscore(`{qstamp}:${queue}:repeat`, name));
        const score = Number(await redis.zscore(`{qstamp}:${queue}:delayed`, `repeat:${name}:${next}`));
        return { inIntervals: (next - Date.now()) / everyMs, isQueued: Math.floor(score / 0x1000) === next };
      }),
    );
  const everyRun = (is: (inIntervals: number) => boolean) => async () =>
    (await nextRuns()).every(({ inIntervals, isQueued }) => isQueued && is(inIntervals));

  const rightNow = Date.now;
  const wrongClock = vi.spyOn(Date, 'now').mockImplementation(() => rightNow() + 41 * dayMs);
  const wrongWorker = await startPart('workers', settings);
  await eventually(everyRun(() => true));
  await wrongWorker.stop();
  wrongClock.mockRestore();
  expect(await everyRun((inIntervals) => inIntervals > 40)()).toBe(true);

  await addWorker({ settings });
  await eventually(everyRun((inIntervals) => inIntervals <= 1));
});

test('E14: of many workers that wake jobs at once, only one starts a job, and a job within its pause is left alone', async () => {
  const { redis, stamps, webhooks, add, startWatches } = await openLab();
  await add('soon', undefined, 'stamp', { delay: minuteMs });
  await webhooks.add('webhook', {}, { jobId: 'later', delay: 15 * minuteMs });
  const late = Array.from({ length: 20 }, (_, index) => `late-${index}`);
  for (const jobId of late) {
    await add(jobId, undefined, 'stamp', { delay: hourMs });
    await webhooks.add('webhook', {}, { jobId, delay: hourMs });
  }
  startWatches(4);
  const waiting = async () => [await redis.lrange(stamps.toKey('wait'), 0, -1), await redis.lrange(webhooks.toKey('wait'), 0, -1)];
  await eventually(async () => (await waiting()).every(({ length }) => length >= late.length));
  for (const ids of await waiting()) expect(ids.toSorted()).toEqual(late.toSorted());
  expect([(await stamps.getJob('soon'))?.delay, (await webhooks.getJob('later'))?.delay]).toEqual([minuteMs, 15 * minuteMs]);
  expect([await stamps.getDelayedCount(), await webhooks.getDelayedCount()]).toEqual([1, 1]);
});

test('E14: a worker whose clock differs from that of Redis says so, and leaves the jobs to others', async () => {
  const { redis, stamps, add } = await openLab();
  await add('late', undefined, 'stamp', { delay: 3 * hourMs });
  const rightNow = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => rightNow() - hourMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', process: 'worker', destination: { write: (line) => void lines.push(line) } });
  const watch = watchOversleepers({ redis, schedules: [], log });
  onTestFinished(watch.stop);
  await eventually(async () => lines.length > 0);
  expect(lines[0]).toMatch(/clock differs from that of Redis/);
  expect(await stamps.getDelayedCount()).toBe(1);
});
