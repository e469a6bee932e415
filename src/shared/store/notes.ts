import type { Collection, Db } from 'mongodb';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';

/** Reads and writes one member of a document in the collection `checks`, where the service records the progress of its own work. */
export function createNote<T>(db: Db, id: string, member: string) {
  const checks: Collection<{ readonly _id: string; readonly [member: string]: unknown }> = db.collection('checks');
  return {
    /** Resolves to undefined before the first write. */
    read: (): Promise<T | undefined> => inStore(async () => (await checks.findOne({ _id: id }, { maxTimeMS }))?.[member] as T | undefined),
    write: (value: T): Promise<void> =>
      inStore(async () => void (await checks.updateOne({ _id: id }, { $set: { [member]: value } }, { upsert: true }))),
  };
}
