import type { AnyBulkWriteOperation, Collection, UpdateFilter } from 'mongodb';
import { timeOfId } from '../domain/stamp-id.ts';
import { inOnePage } from './connection.ts';
import { filled, type Ledger, type Ledgers } from './count-ledger.ts';
import { type CounterRecord, type Figures, fieldsOf, type Increments } from './counter-rows.ts';
import { inStore, isDuplicateKey } from './errors.ts';

/** A ledger that was never closed is one of a process that was killed. After a day none of its jobs is done again. */
const abandonedAfterMs = 86_400_000;

/** The figures of a row, each by its path. */
const incrementsOf = ({ latency = {}, ...others }: Figures): Increments => ({
  ...(others as Increments),
  ...Object.fromEntries(Object.entries(latency).map(([bucket, count]) => [`latency.${bucket}`, count])),
});

/** When which ledgers were added to a row, by their ids. */
export type FoldedRecord = CounterRecord & { readonly folded?: Readonly<Record<string, Date>> };

/** What a row says of a ledger that is gone is kept so long, for runs that are slower than others. */
const toldForMs = 600_000;

/**
 * Adds ledgers that nobody writes any more to the rows, each once in each row, and removes them. May be cut off anywhere, and run twice at
 * once. What a row says of a ledger is removed later: who reads the ledgers first, and then the rows, counts nothing twice.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function foldLedgers(ledgers: Ledgers, rows: Collection<FoldedRecord>, timeMs: number): Promise<void> {
  const found = await inStore(() => ledgers.find({}, inOnePage).toArray());
  const existing = new Set(found.map(({ _id }) => _id));
  const marked = await inStore(() => rows.find({ folded: { $exists: true } }, { projection: { folded: 1 }, ...inOnePage }).toArray());
  const cleanings = marked.flatMap(({ _id, folded = {} }): AnyBulkWriteOperation<FoldedRecord>[] => {
    const gone = Object.keys(folded).filter((id) => !existing.has(id) && timeMs - folded[id]!.getTime() > toldForMs);
    if (gone.length === 0) return [];
    const $unset = gone.length === Object.keys(folded).length ? { folded: '' } : Object.fromEntries(gone.map((id) => [`folded.${id}`, '']));
    return [{ updateOne: { filter: { _id }, update: { $unset } as UpdateFilter<FoldedRecord> } }];
  });
  if (cleanings.length > 0) await inStore(() => rows.bulkWrite(cleanings, { ordered: false }));

  const isEnded = ({ _id, isClosed, jobs = {} }: Ledger) =>
    (isClosed === true && Object.keys(jobs).length === 0) || timeMs - timeOfId(_id) > abandonedAfterMs;
  for (const { _id, rows: ids = {}, counts = {} } of found.filter(isEnded)) {
    for (const [number, row] of Object.entries(ids)) {
      const update = filled({
        $setOnInsert: fieldsOf(row),
        $inc: incrementsOf(counts[number] ?? {}),
        $set: { [`folded.${_id}`]: new Date(timeMs) },
      });
      const add = (upsert: boolean) =>
        rows.updateOne({ _id: row, [`folded.${_id}`]: { $exists: false } }, update as UpdateFilter<FoldedRecord>, { upsert });
      await inStore(async () => {
        try {
          await add(true);
        } catch (error) {
          // The row is there: with this ledger, or made meanwhile with another.
          if (!isDuplicateKey(error)) throw error;
          await add(false);
        }
      });
    }
    await inStore(() => ledgers.deleteOne({ _id }));
  }
}
