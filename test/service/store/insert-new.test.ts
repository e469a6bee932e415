import { MongoServerError } from 'mongodb';
import { expect, test } from 'vitest';
import { insertNew } from '../../../src/shared/store/connection.ts';
import { openDatabase } from '../../support/database.ts';
import { freshStore } from '../../support/servers.ts';

interface Numbered {
  readonly _id: string;
  readonly run: number;
  readonly absent?: string | undefined;
}

const numbered = (run: number, ids: readonly number[]): Numbered[] => ids.map((id) => ({ _id: String(id), run, absent: undefined }));
const upTo = (end: number): number[] => Array.from({ length: end }, (_, id) => id);

const openFresh = async () => {
  const db = await openDatabase({ settings: { MONGODB_URL: freshStore().MONGODB_URL } });
  return { db, collection: db.collection<Numbered>('numbered', { ignoreUndefined: true }) };
};

test('S7: documents with a free key are written, and the positions of the others are returned', async () => {
  const { db, collection } = await openFresh();
  const taken = [3, 64, 150, 199];
  expect(await insertNew(db, collection, numbered(1, taken))).toEqual([]);
  expect(await insertNew(db, collection, numbered(2, upTo(200)))).toEqual(taken);
  expect(await collection.countDocuments({ run: 1 })).toBe(4);
  expect(await collection.countDocuments({ run: 2 })).toBe(196);
  expect(await collection.countDocuments({ absent: { $exists: true } })).toBe(0);
  expect(await insertNew(db, collection, [])).toEqual([]);
});

test('S7: all documents are written, even if they are too large for one command', async () => {
  const { db, collection } = await openFresh();
  const large = upTo(101).map((id) => ({ _id: String(id), run: 1, absent: id === 100 ? undefined : 'x'.repeat(200_000) }));
  await insertNew(db, collection, numbered(2, [0, 64, 80]));
  expect(await insertNew(db, collection, large)).toEqual([0, 64, 80]);
  expect(await collection.countDocuments({ run: 1 })).toBe(98);
  expect(await collection.findOne({ _id: '100' })).toEqual({ _id: '100', run: 1 });
});

test('E10: a document that cannot be written is not reported as a duplicate, even next to one', async () => {
  const { db, collection } = await openFresh();
  await insertNew(db, collection, numbered(1, [0]));
  const unfit = { _id: ['an array is no key'] as unknown as string, run: 2 };
  await expect(insertNew(db, collection, [...numbered(2, [0, 1]), unfit])).rejects.toThrow(MongoServerError);
  expect(await collection.findOne({ _id: '0' })).toMatchObject({ run: 1 });
});
