import { answerWithin } from '../../shared/runtime/answer-within.ts';
import { createBatcher } from '../../shared/runtime/batcher.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore, StampTally } from '../../shared/store/counters.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { DirectoryKeeper } from './directory-keeper.ts';

/**
 * Jobs that finish while another write is under way are written together, with at most so many stamps: one insert, and beside it one update of
 * the counters. In a larger insert the first stamps would wait for the last, and the API had nothing to answer meanwhile.
 */
const mostStampsTogether = 256;

/** A job counts as so many stamps at least: not more than 64 jobs are written together. */
const leastSize = 4;

/** How long a reply waits for the counters, milliseconds. */
const longestCountingMs = 400;

/** A stamp, and what is counted for it. */
export interface Made {
  readonly stamp: StoredStamp;
  readonly tally: StampTally;
}

/** The stamps of one run of a job. */
export interface MadeByJob {
  /** Tells the job and its items from all others, and is the same when the job is done again: hexadecimal text. */
  readonly mark: string;
  readonly made: readonly Made[];
  /** What is counted for stamps that the job had made before; undefined where this is its first run. */
  readonly recounted?: readonly StampTally[] | undefined;
}

export interface Written {
  /** What is stored under the ids of the stamps, in their order, whoever wrote it first. */
  readonly stored: readonly StoredStamp[];
  /** Ends when the stamps are counted. It rejects where they may not be: then the job is to be done again, and counts anew. */
  readonly counted: Promise<void>;
}

interface JobWrites extends MadeByJob {
  /** Set once the stamps are written. */
  written?: Written;
}

export interface StampWriterDeps {
  readonly directory: Pick<DirectoryKeeper, 'wrote'>;
  readonly stamps: Pick<StampStore, 'insertOnce'>;
  readonly counters: Pick<CounterStore, 'add' | 'takeBack' | 'settle'>;
  readonly log: Logger;
}

/** Writes stamps and counts them. */
export interface StampWriter {
  /** Writes the stamps of one job. A caller does not wait long for the counters. @throws ServiceError `store_unavailable` */
  write(job: MadeByJob): Promise<Written>;
  /** Counts stamps that nobody could make. */
  countFailures(tallies: readonly StampTally[]): Promise<void>;
}

type StoredById = ReadonlyMap<string, StoredStamp>;

/** Whether a stored stamp was made for this very request: another one, of the same id, counts it for itself. */
export function isOfSameRequest(
  stored: StoredStamp | undefined,
  { requestId, acceptedAt }: { requestId: string; acceptedAt: Date | number },
): boolean {
  return stored?.requestId === requestId && Number(stored.acceptedAt) === Number(acceptedAt);
}

export function createStampWriter({ stamps, directory, counters, log }: StampWriterDeps): StampWriter {
  /** Counts a job once it is known what is stored, and what of it was `added`. */
  async function count({ mark, made, recounted }: JobWrites, adding: Promise<void>, stored: StoredById, added: Set<string>): Promise<void> {
    const isNew = made.map(({ stamp }) => added.delete(stamp.tokenId));
    if (recounted) {
      const ours = made.filter(({ stamp }) => isOfSameRequest(stored.get(stamp.tokenId), stamp));
      return counters.settle(mark, [...recounted, ...ours.map(({ tally }) => tally)]);
    }
    const wrong = made.filter((_, index) => !isNew[index]).map(({ tally }) => tally);
    await adding;
    if (wrong.length > 0) await counters.takeBack(mark, wrong);
  }

  /** Counts at the same time as it writes, since nearly every stamp is new. What turns out to be stored already is subtracted again. */
  const writing = createBatcher<JobWrites>({
    maxSize: mostStampsTogether,
    sizeOf: ({ made }) => Math.max(leastSize, made.length),
    flush: async (jobs) => {
      const made = jobs.flatMap((job) => job.made);
      const first = jobs
        .filter(({ recounted }) => !recounted)
        .map((job) => ({ mark: job.mark, tallies: job.made.map(({ tally }) => tally) }));
      // The longer of both leaves first.
      const inserting = made.length > 0 ? stamps.insertOnce(made.map(({ stamp }) => stamp)) : { stored: [], added: [] };
      const adding = first.length > 0 ? counters.add(first) : Promise.resolve();
      // Where the insert fails, the job is done again and counts anew.
      adding.catch(() => undefined);
      const { stored, added } = await inserting;
      // Two jobs in this batch may hold the same stamp; it was added, and counts, once.
      const addedIds = new Set(added.map(({ tokenId }) => tokenId));
      const storedById: StoredById = new Map(stored.map((stamp) => [stamp.tokenId, stamp]));
      const counting = jobs.map((job) => count(job, adding, storedById, addedIds));
      await Promise.all([answerWithin(longestCountingMs, () => Promise.all(counting)), directory.wrote(stored)]);
      for (const [index, job] of jobs.entries()) {
        job.written = { stored: job.made.flatMap(({ stamp }) => storedById.get(stamp.tokenId) ?? []), counted: counting[index]! };
      }
    },
  });

  return {
    write: async (given) => {
      if (given.made.length === 0 && !given.recounted) return { stored: [], counted: Promise.resolve() };
      const job: JobWrites = { ...given };
      await writing.add(job);
      return job.written!;
    },
    countFailures: async (tallies) => {
      if (tallies.length === 0) return;
      const isCounted = await answerWithin(longestCountingMs, () => counters.add([{ tallies }]).then(() => true));
      if (!isCounted) log.warn({ failed: tallies.length }, 'failures were not counted in time');
    },
  };
}
