import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { StampTally } from '../../src/shared/store/counters.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { collectionOf, openDatabase } from '../support/database.ts';
import { freshStore } from '../support/servers.ts';

const now = Date.parse('2026-11-22T12:30:00.000Z');
const day = '2026-11-22';

const tally: StampTally = {
  finishedAt: now,
  provider: 'mock',
  isQualified: false,
  callerKind: 'internal',
  product: 'test',
  outcome: 'stamped',
  latencyMs: 8,
};

/** Rows as version 0.2.0 wrote them: one for each counter. */
const rowsOfOlderVersion = [
  { _id: 'lifetime', stamps: 5, verifications: 2 },
  { _id: `hour:${new Date(now - 3_600_000).toISOString().slice(0, 13)}`, expiresAt: new Date(now + 86_400_000), stamps: 5 },
  { _id: `day:${day}:internal:unqualified:mock`, date: day, provider: 'mock', isQualified: false, callerKind: 'internal', stamps: 5 },
  { _id: 'product:test', stamps: 5 },
];

test('S12: processes count in rows of their own, and every total is their sum with what an older version counted', async () => {
  const config = freshStore();
  const db = await openDatabase({ settings: { MONGODB_URL: config.MONGODB_URL } });
  const rows = collectionOf(db, 'counters');
  await rows.insertMany(rowsOfOlderVersion);
  const stores = Array.from({ length: 4 }, () => openStore(config, pino({ level: 'silent' })));
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
  await Promise.all(
    stores.flatMap(({ counters }) => [
      counters.add([tally, tally, { ...tally, outcome: 'failed', latencyMs: undefined }]),
      counters.count({ verifications: 1 }, now),
    ]),
  );
  await stores[0]?.counters.takeBack([tally]);

  const [reader] = stores;
  expect(await reader?.counters.productTotal('test')).toBe(5 + 4 * 2 - 1);
  const { lifetime, last24h } = (await reader?.counters.totals(now)) ?? {};
  expect(lifetime).toEqual({ stamps: 12, failed: 4, verifications: 6, workflowsStarted: 0, workflowsCompleted: 0, renewed: 0 });
  expect(last24h).toEqual({ stamps: 12, failed: 4, verifications: 4, workflowsStarted: 0, workflowsCompleted: 0, renewed: 0 });
  expect(await reader?.counters.daily(day)).toMatchObject([{ date: day, provider: 'mock', stamps: 12, failed: 4, latencyMs: { p50: 10 } }]);
  // One for each process; the first goes on with the row of the older version.
  expect(await rows.countDocuments({ _id: /^product:/ })).toBe(4);
});
