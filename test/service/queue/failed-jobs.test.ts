import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { type StampItem, stampQueueName } from '../../../src/shared/queue/jobs.ts';
import { jobOptionsOf } from '../../../src/shared/queue/open-queue.ts';
import { jsonLines, runOperator } from '../../support/cli.ts';
import { scrape, seriesValue } from '../../support/metrics.ts';
import { eventually, getJson, verifyById } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { stampItem } from '../../support/stamp-items.ts';

/** It parses but cannot be stamped: its digest is too short. */
function brokenItem(): StampItem {
  const item = stampItem();
  return { ...item, imprint: { ...item.imprint, digest: item.imprint.digest.slice(2) } };
}

test('a stamp that cannot be made fails alone, and the operator can list, repair and retry it', async () => {
  // Longer than this test lasts: a stamp that is owed moves to another queue.
  const service = await startService({ settings: { METRICS_PORT: '0', STAMP_WAIT_MS: '600000' } });
  const redis = new Redis(service.settings.REDIS_URL ?? '', { maxRetriesPerRequest: null });
  const queue = new Queue(stampQueueName, { connection: redis, prefix: '{qstamp}' });
  onTestFinished(async () => {
    await queue.close();
    redis.disconnect();
  });
  const payloadOf = (items: readonly StampItem[]) => ({ replyTo: 'nobody', items });

  const jobs = (...args: readonly string[]) => runOperator(['jobs', ...args], service.settings);
  const listed = async () => jsonLines(await jobs('failed', '--json'));

  const reasonOf = async ({ tokenId }: StampItem) => (await verifyById(service, tokenId)).body.reason;
  const isValid = async ({ tokenId }: StampItem) => (await verifyById(service, tokenId)).body.valid === true;
  const hasFailed = async (item: StampItem) => String(await reasonOf(item)).startsWith('stamp_failed: ');

  const failedJobs = async () => {
    const { queue: told } = (await getJson(service, '/api/v1/status')).body as { queue: { failed_jobs: number } };
    return [told.failed_jobs, seriesValue(await scrape(service), 'qstamp_failed_jobs')];
  };
  const showsFailedJobs = (count: number) => eventually(async () => (await failedJobs()).every((told) => told === count));

  const broken = brokenItem();
  const good = [stampItem(), stampItem(), stampItem()];
  const { id = '' } = await queue.add('stamp', payloadOf([good[0]!, broken, good[1]!, good[2]!]), jobOptionsOf('stamp'));
  for (const item of good) await eventually(() => isValid(item));

  await eventually(() => hasFailed(broken), 15_000);
  expect((await verifyById(service, broken.tokenId)).body).toMatchObject({ valid: false, token_id: broken.tokenId });
  const page = await service.fetch(`/api/v1/verify/v1/token/${broken.tokenId}`, { headers: { accept: 'application/xhtml+xml' } });
  expect(await page.text()).toContain('There is no stamp');
  await showsFailedJobs(1);

  const { code, stdout, stderr } = await jobs('failed');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toEqual([expect.stringMatching(`^${id}  \\d{4}-\\S+Z  stamp \\(${broken.tokenId}\\): .*digest`)]);
  const [first] = await listed();
  const shown = { id, kind: 'stamp', failed_at: expect.stringMatching(/Z$/), reason: expect.any(String), token_ids: [broken.tokenId] };
  expect(first).toEqual(shown);

  expect(await jobs('retry', id)).toEqual({ code: 0, stdout: `${id} is retried\n`, stderr: '' });
  const again = await eventually(async () => {
    const [job] = await listed();
    return job !== undefined && job.failed_at !== first?.failed_at && job;
  });
  expect(again).toEqual(shown);
  await eventually(() => hasFailed(broken));

  const mended: StampItem = { ...broken, imprint: stampItem().imprint };
  await redis.hset(`{qstamp}:${stampQueueName}:${id}`, 'data', JSON.stringify(payloadOf([mended])));
  expect((await jobs('retry', '--all')).code).toBe(0);
  await eventually(() => isValid(mended));
  expect(await listed()).toEqual([]);
  await showsFailedJobs(0);
});
