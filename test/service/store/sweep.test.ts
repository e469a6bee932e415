import { randomUUIDv7 } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createContentsUnderWay } from '../../../src/shared/queue/contents-under-way.ts';
import type { ShownJob } from '../../../src/shared/queue/failed-jobs.ts';
import type { FailedJob } from '../../../src/shared/queue/jobs.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { createSweepProcessor } from '../../../src/workers/housekeeping/sweep.ts';
import { eventually, stampAgent } from '../../support/requests.ts';
import { freshStore } from '../../support/servers.ts';
import { startService } from '../../support/service.ts';

const log = pino({ level: 'silent' });
const eightDaysMs = 8 * 24 * 3_600_000;

test('S11: after eight days without a worker, waiting stamps still have their content; only content without a stamp is removed', async () => {
  const service = await startService({ workers: 0 });
  const redis = new Redis(service.settings.REDIS_URL!);
  onTestFinished(() => redis.disconnect());
  const store = openStore(loadConfig(service.settings), log);
  onTestFinished(() => store.close());
  const seal = (content: string) =>
    stampAgent(service, 'sealed', { content_b64: Buffer.from(content).toString('base64') }, { prefer: 'respond-async' });
  const accepted = await Promise.all(['one', 'two', 'three'].map(seal));
  expect(accepted.map(({ status }) => status)).toEqual([202, 202, 202]);
  const orphan = await store.sealedContents.put(randomUUIDv7(), Buffer.from('of a request that was never accepted'));

  const clock = () => Date.now() + eightDaysMs;
  const sweep = createSweepProcessor({
    ...store,
    readContentsUnderWay: createContentsUnderWay({ redis, log }),
    listFailedJobs: async function* () {},
    recordFailed: async () => undefined,
    clock,
    log,
  });
  await sweep();
  expect(await store.sealedContents.open(orphan)).toBeNull();

  await service.startWorker();
  for (const [index, { body }] of accepted.entries()) {
    const read = () => service.fetch(String(body.sealed_storage_url));
    await eventually(async () => (await read()).status === 200);
    expect(await (await read()).text()).toBe(['one', 'two', 'three'][index]);
  }

  // Later sweeps skip the content already seen, stamped or not; they read only newer content.
  const later = await store.sealedContents.put(randomUUIDv7(), Buffer.from('another one'));
  const listed = await Array.fromAsync(store.sealedContents.listNotSwept(new Date(clock())));
  expect(listed.flat().map(({ contentId }) => contentId)).toEqual([later]);
});

test('E11: given-up jobs are recorded again, because the worker that gave up may have been killed', async () => {
  const store = openStore(freshStore(), log);
  onTestFinished(() => store.close());
  const now = Date.now();
  const failedAgo = (id: string, ms: number): ShownJob => ({
    id,
    kind: 'stamp',
    job: { name: 'stamp', id, payload: { replyTo: 'nobody', items: [] } },
    reason: '',
    failedAt: new Date(now - ms),
  });
  const recorded: FailedJob[] = [];
  const unreadable = { ...failedAgo('of another version', 0), job: undefined };
  const sweep = createSweepProcessor({
    ...store,
    readContentsUnderWay: async () => new Set<string>(),
    listFailedJobs: async function* () {
      yield* [failedAgo('long ago', 7_200_000), failedAgo('just now', 7_199_999), unreadable];
    },
    recordFailed: async (job) => void recorded.push(job),
    clock: () => now,
    log,
  });
  await sweep();
  expect(recorded.map(({ id }) => id)).toEqual(['long ago', 'just now']);
});
