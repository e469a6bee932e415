import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { ShownJob } from '../../../src/shared/queue/failed-jobs.ts';
import type { StampItem } from '../../../src/shared/queue/jobs.ts';
import { readContentsUnderWay } from '../../../src/shared/queue/queue-state.ts';
import { connectWorker } from '../../../src/shared/redis/connection.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { sweep } from '../../../src/workers/housekeeping/index.ts';
import { eventually, stampAgent } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { stampItem } from '../../support/stamp-items.ts';
import { workerTools } from '../../support/worker-tools.ts';

const log = pino({ level: 'silent' });
const eightDaysMs = 8 * 24 * 3_600_000;

test('S11: after eight days without a worker, waiting stamps still have their content; only content without a stamp is removed', async () => {
  const service = await startService({ workers: 0 });
  const redis = connectWorker(loadConfig(service.settings), log);
  onTestFinished(() => redis.disconnect());
  const store = openStore(loadConfig(service.settings), log);
  onTestFinished(() => store.close());
  const seal = (content: string) =>
    stampAgent(service, 'sealed', { content_b64: Buffer.from(content).toString('base64') }, { prefer: 'respond-async' });
  const accepted = await Promise.all(['one', 'two', 'three'].map(seal));
  expect(accepted.map(({ status }) => status)).toEqual([202, 202, 202]);
  const orphan = await store.sealedContents.put(randomUUIDv7(), Buffer.from('of a request that was never accepted'));

  const clock = () => Date.now() + eightDaysMs;
  await sweep(workerTools({ store, readContentsUnderWay: () => readContentsUnderWay({ redis, log }), clock }));
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
  const tools = workerTools();
  const failed = (id: string, items: readonly StampItem[]): ShownJob => ({
    id,
    kind: 'stamp',
    job: { name: 'stamp', id, payload: { replyTo: 'nobody', items: [...items] } },
    reason: '',
    failedAt: new Date(),
  });
  const items = [stampItem(), stampItem()];
  const unreadable = { ...failed('of another version', []), job: undefined };
  const list = async function* () {
    yield* [failed('first', items.slice(0, 1)), unreadable, failed('last', items.slice(1))];
  };
  await sweep({ ...tools, failedJobs: { ...tools.failedJobs, list } });
  const reasons = await Promise.all(items.map(({ tokenId }) => tools.store.refusals.find(tokenId)));
  expect(reasons).toEqual(['stamp_failed', 'stamp_failed']);
});
