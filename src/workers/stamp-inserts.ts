import { createMicroBatcher } from '../shared/runtime/micro-batcher.ts';
import { isOutOfSpace } from '../shared/store/connection.ts';
import type { InsertedStamp, StampStore, StoredStamp } from '../shared/store/stamps.ts';

/** Inserts the stamps of all jobs of a worker, and knows whether the store has space for them. */
interface StampInserts {
  /** Inserts a stamp together with those of other jobs. @throws ServiceError `store_unavailable` */
  add(stamp: StoredStamp): Promise<InsertedStamp>;
  /** Whether the last insert failed because the disk is full. Other small writes may still succeed then, so only inserts count. */
  isFull(): boolean;
  /** Calls `listener` when an insert shows that `isFull` has changed. */
  onChange(listener: () => void): void;
}

/**
 * While an insert is in progress, new stamps wait and are then inserted together, at most this many. In a larger insert the first stamps would wait
 * for the last, and the API would have nothing to answer meanwhile.
 */
const mostPerInsert = 256;

/** How long an observation is valid. Some worker retries stamps that could not be stored at least every 5 s. */
const fullForMs = 10_000;

export function createStampInserts(stamps: StampStore): StampInserts {
  let fullAt = Number.NEGATIVE_INFINITY;
  let listener = () => {};
  const isFull = () => performance.now() - fullAt < fullForMs;

  function note(at: number): void {
    const wasFull = isFull();
    fullAt = at;
    if (isFull() !== wasFull) listener();
  }

  async function insert(records: readonly StoredStamp[]) {
    try {
      const outcome = await stamps.insertOnce(records);
      note(Number.NEGATIVE_INFINITY);
      return outcome;
    } catch (error) {
      if (isOutOfSpace(error)) note(performance.now());
      throw error;
    }
  }

  const { add } = createMicroBatcher({ maxItems: mostPerInsert, send: insert });
  return {
    add,
    isFull,
    onChange: (given) => {
      listener = given;
    },
  };
}
