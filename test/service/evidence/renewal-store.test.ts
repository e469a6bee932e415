import { Binary } from 'mongodb';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/shared/store/store.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { freshStore } from '../../support/servers.ts';

test('S16: all renewal tokens are found, even if there are more than a process caches', async () => {
  const settings = freshStore();
  const store = openStore(settings, pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const renewals = collectionOf(await openDatabase({ settings: { MONGODB_URL: settings.MONGODB_URL } }), 'renewals');
  const ids = Array.from({ length: 1_100 }, (_, index) => `renewal-${index}`);
  await renewals.insertMany(ids.map((id) => ({ _id: id, tst: new Binary(Buffer.from(id)) })));
  for (const asked of [ids.slice(0, 200), ids, [...ids].reverse()]) {
    const found = await store.renewals.findTokens(asked);
    expect(asked.filter((id) => found.get(id)?.toString() !== id)).toEqual([]);
  }
  expect(await store.renewals.findTokens(['unknown'])).toEqual(new Map());
});
