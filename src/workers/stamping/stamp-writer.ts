import { answerWithin } from '../../shared/runtime/answer-within.ts';
import { createBatcher } from '../../shared/runtime/batcher.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore, StampTally } from '../../shared/store/counters.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { DirectoryKeeper } from './directory-keeper.ts';

/**
 * Jobs that finish while another write is under way are written together, at most this many: one insert, and beside it one update of the
 * counters.
 */
const mostJobsTogether = 64;

/** How long a reply waits for the counters, milliseconds. */
const longestCountingMs = 400;

/** A stamp, and what is counted for it. */
export interface Made {
  readonly stamp: StoredStamp;
  readonly tally: StampTally;
}

interface JobWrites {
  readonly made: readonly Made[];
  /** The stored stamps in the order of the items; set once they are written. */
  stored: readonly StoredStamp[];
}

export interface StampWriterDeps {
  readonly directory: Pick<DirectoryKeeper, 'wrote'>;
  readonly stamps: Pick<StampStore, 'insertOnce'>;
  readonly counters: Pick<CounterStore, 'add' | 'takeBack'>;
  readonly log: Logger;
}

/** Writes stamps and counts them. */
export interface StampWriter {
  /**
   * Writes the stamps of one job; resolves with what is stored under their ids, whoever wrote it first.
   *
   * @throws ServiceError `store_unavailable`
   */
  write(made: readonly Made[]): Promise<readonly StoredStamp[]>;
  /** Counts stamps that nobody could make. */
  countFailures(tallies: readonly StampTally[]): Promise<void>;
}

export function createStampWriter({ stamps, directory, counters, log }: StampWriterDeps): StampWriter {
  async function count(tallies: readonly StampTally[], change: (tallies: readonly StampTally[]) => Promise<void>): Promise<void> {
    try {
      if (tallies.length > 0) await change(tallies);
    } catch (error) {
      log.error({ err: error, stamps: tallies.length }, 'the counters are wrong by some stamps: repair them');
    }
  }

  /**
   * Counts at the same time as it writes, since nearly every stamp is new. What turns out to be stored already, or could not be written,
   * is subtracted again. A caller does not wait long for the counters.
   */
  const writing = createBatcher<JobWrites>({
    maxItems: mostJobsTogether,
    flush: async (jobs) => {
      const made = jobs.flatMap((job) => job.made);
      const tallies = made.map(({ tally }) => tally);
      const isCounted = counters.add(tallies).then(
        () => true,
        () => false,
      );
      const putRight = async (isNew: readonly boolean[]) => {
        const wasCounted = await isCounted;
        const wrong = tallies.filter((_, index) => isNew[index] !== wasCounted);
        await count(wrong, wasCounted ? counters.takeBack : counters.add);
      };
      const finishCounting = (isNew: readonly boolean[]) => answerWithin(longestCountingMs, () => putRight(isNew));

      const { stored, added } = await stamps.insertOnce(made.map(({ stamp }) => stamp)).catch(async (error) => {
        await finishCounting(made.map(() => false));
        throw error;
      });
      const addedIds = new Set(added.map(({ tokenId }) => tokenId));
      // Two jobs in this batch may hold the same stamp; it was added, and counts, once.
      await Promise.all([finishCounting(made.map(({ stamp }) => addedIds.delete(stamp.tokenId))), directory.wrote(stored)]);

      const storedById = new Map(stored.map((stamp) => [stamp.tokenId, stamp]));
      for (const job of jobs) job.stored = job.made.flatMap(({ stamp }) => storedById.get(stamp.tokenId) ?? []);
    },
  });

  return {
    write: async (made) => {
      if (made.length === 0) return [];
      const job: JobWrites = { made, stored: [] };
      await writing.add(job);
      return job.stored;
    },
    countFailures: async (tallies) => void (await answerWithin(longestCountingMs, () => count(tallies, counters.add))),
  };
}
