import { type Db, MongoClient } from 'mongodb';
import { onTestFinished } from 'vitest';
import type { Service } from './service.ts';

/** The database of a service, to read stored data or to simulate events that take days. */
export async function openDatabase({ settings }: Pick<Service, 'settings'>): Promise<Db> {
  const url = settings.MONGODB_URL ?? '';
  const client = await MongoClient.connect(url, { retryWrites: false });
  onTestFinished(() => client.close());
  return client.db(new URL(url).pathname.slice(1) || 'qstamp');
}

/** Documents of any collection, with string ids like in this service. */
export const collectionOf = (db: Db, name: string) => db.collection<{ _id: string; [field: string]: unknown }>(name);
