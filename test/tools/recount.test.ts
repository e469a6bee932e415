import { expect, test } from 'vitest';
import type { HourCounts } from '../../src/shared/store/counters.ts';
import { runOperator } from '../support/cli.ts';
import { openDatabase } from '../support/database.ts';
import { eventually, randomHash, stampAgent, stampInternal } from '../support/requests.ts';
import { startService } from '../support/service.ts';

const hourMs = 3_600_000;
const timeOf = (timeMs: number) => `${new Date(timeMs).toISOString().slice(0, 16)}Z`;

test('missing and double counts of a killed process are corrected from the stamps; failures and latencies stay', async () => {
  const service = await startService();
  for (let stamp = 0; stamp < 3; stamp += 1) await stampInternal(service, { hash: randomHash() });
  await stampAgent(service, 'basic', { hash: randomHash() });
  const counts = (await openDatabase(service)).collection<HourCounts>('counts');
  const read = () => counts.find({}).sort({ _id: 1 }).toArray();
  const right = await eventually(async () => {
    const documents = await read();
    return documents.reduce((sum, { done }) => sum + (done?.stamps ?? 0), 0) === 4 && documents;
  });
  await counts.updateMany({}, { $inc: { 'done.stamps': -2, 'products.test': 40, 'series.agent:unqualified:mock.stamps': 40 } });

  // The hours until now, even if a new one begins while the test runs.
  const lastHours = [timeOf(Date.now() - 2 * hourMs), timeOf(Date.now() + hourMs)];
  const { code, stdout, stderr } = await runOperator(['recount', ...lastHours], { MONGODB_URL: service.settings.MONGODB_URL ?? '' });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^counted the stamps of \d hours\n$/);
  const told = (documents: readonly HourCounts[]) => documents.map(({ _id, done, products, series }) => ({ _id, done, products, series }));
  expect(told(await read())).toEqual(told(right));
});
