import { createBatcher } from '../runtime/batcher.ts';

/** The most documents that one query asks for. */
const mostIds = 64;

/**
 * Reads by id, one query for all that is asked while another query is under way: a query costs more than the document that it brings. Alone,
 * a read is sent at once.
 *
 * @param readMany answers what there is, in any order; what it throws, all who wait are told
 */
export function joinReads<T>(readMany: (ids: readonly string[]) => Promise<readonly T[]>, idOf: (found: T) => string) {
  interface Read {
    readonly id: string;
    found: T | null;
  }
  const reading = createBatcher<Read>({
    maxSize: mostIds,
    flush: async (reads) => {
      const found = await readMany([...new Set(reads.map(({ id }) => id))]);
      const byId = new Map(found.map((one) => [idOf(one), one]));
      for (const read of reads) read.found = byId.get(read.id) ?? null;
    },
  });
  return async (id: string): Promise<T | null> => {
    const read: Read = { id, found: null };
    await reading.add(read);
    return read.found;
  };
}
