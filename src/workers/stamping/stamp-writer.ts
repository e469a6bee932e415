import { setTimeout as delay } from 'node:timers/promises';
import type { JobRun } from '../../shared/queue/jobs.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import { createBatcher } from '../../shared/runtime/batcher.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore, CountWrite, StampTally, Tallied } from '../../shared/store/counters.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { DirectoryKeeper } from './directory-keeper.ts';

/**
 * Jobs that finish while another write is under way are written together, with at most so many stamps. In a larger insert the first stamps
 * would wait for the last, and the API had nothing to answer meanwhile.
 */
const mostStampsTogether = 256;

/** A job counts as so many stamps at least: not more than 64 jobs are written together. */
const leastSize = 4;

/**
 * Jobs are counted together: so long after the count before, milliseconds, or at once after a pause. A command for each job would cost the
 * database as much as the insert of a stamp.
 */
const longestCountGapMs = 64;

/** Jobs that wait to be counted hold their places in the worker: of `concurrency` of them no more than a few may. */
const countGapMs = (concurrency: number): number => Math.min(longestCountGapMs, concurrency / 4);

const mostCountedTogether = 256;

/** How often, and after which pause in milliseconds, the store is asked to take back a count. */
const mostTakeBacks = 5;
const takeBackPauseMs = 1_000;

/** How long a job with failures waits for the counters, milliseconds. */
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
  readonly run: JobRun['run'];
  readonly isOurs: JobRun['isOurs'];
  readonly made: readonly Made[];
  /** What is counted for stamps that the job had made before; undefined where this is its first run. */
  readonly recounted?: readonly StampTally[] | undefined;
}

export interface Written {
  /** What is stored under the ids of the stamps, in their order, whoever wrote it first. */
  readonly stored: readonly StoredStamp[];
  /** Ends when the stamps are counted, a moment later. It rejects where they may not be: then the job is to be done again, and counts anew. */
  readonly counted: Promise<void>;
}

interface JobWrites extends MadeByJob {
  /** Set once the stamps are written. */
  written?: Written;
}

interface JobCounts extends Tallied {
  /** Set once it is begun. */
  write?: CountWrite;
}

export interface StampWriterDeps {
  readonly directory: Pick<DirectoryKeeper, 'wrote'>;
  readonly stamps: Pick<StampStore, 'insertOnce'>;
  readonly counters: Pick<CounterStore, 'add' | 'settle'>;
  /** How many jobs the worker does at a time. */
  readonly concurrency: number;
  readonly log: Logger;
}

/** Writes stamps and counts them. */
export interface StampWriter {
  /** Writes the stamps of one job. Nobody waits for the counters. @throws ServiceError `store_unavailable` */
  write(job: MadeByJob): Promise<Written>;
  /** Counts stamps that nobody could make. */
  countFailures(tallies: readonly StampTally[]): Promise<void>;
}

const settled = async <T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> => (await Promise.allSettled([promise]))[0];

type StoredById = ReadonlyMap<string, StoredStamp>;

/** Whether a stored stamp was made for this very request: another one, of the same id, counts it for itself. */
export function isOfSameRequest(
  stored: StoredStamp | undefined,
  { requestId, acceptedAt }: { requestId: string; acceptedAt: Date | number },
): boolean {
  return stored?.requestId === requestId && Number(stored.acceptedAt) === Number(acceptedAt);
}

export function createStampWriter({ stamps, directory, counters, concurrency, log }: StampWriterDeps): StampWriter {
  let countedAt = -longestCountGapMs;
  const counting = createBatcher<JobCounts>({
    maxSize: mostCountedTogether,
    gather: async () => {
      const leftMs = countedAt + countGapMs(concurrency) - performance.now();
      if (leftMs > 0) await delay(leftMs);
      countedAt = performance.now();
      return undefined;
    },
    flush: async (together) => {
      const write = counters.add(together);
      for (const counts of together) counts.write = write;
      await write.written;
    },
  });

  const countTogether = (counts: JobCounts): CountWrite => ({
    written: counting.add(counts),
    takeBack: async (mark) => counts.write?.takeBack(mark),
  });

  /** A store that is away for a moment must not leave stamps counted twice. */
  async function takeBackAtLast(mark: string, takeBack: CountWrite['takeBack']): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await takeBack(mark);
      } catch (error) {
        log.warn({ err: error, mark, tried }, 'what another worker counts could not be taken back');
        if (tried === mostTakeBacks) throw error;
        await delay(takeBackPauseMs);
      }
    }
  }

  /**
   * Counts what a run has made if its worker holds the job before and after the write. If the job is lost, the next run counts all that is
   * stored, and may have done so already: what was written here is then taken back.
   */
  async function countWhileHeld({ mark, isOurs }: MadeByJob, begin: () => CountWrite | Promise<CountWrite>): Promise<void> {
    const lost = (cause?: unknown) => new Error('the job is not surely held any more, and another run counts it', { cause });
    if (!(await isOurs())) throw lost();
    const { written, takeBack } = await begin();
    const [writing, held] = [await settled(written), await settled(isOurs())];
    if (held.status === 'rejected' || !held.value) {
      await takeBackAtLast(mark, takeBack);
      throw lost(held.status === 'rejected' ? held.reason : undefined);
    }
    if (writing.status === 'rejected') throw writing.reason;
  }

  /** Counts a job once it is known what is stored, and what of it was `added`. */
  async function count(job: JobWrites, stored: StoredById, added: Set<string>): Promise<void> {
    const { mark, run, made, recounted } = job;
    // Two jobs that are written together may hold the same stamp; it was added, and counts, once.
    const isNew = made.map(({ stamp }) => added.delete(stamp.tokenId));
    if (recounted) {
      const ours = made.filter(({ stamp }) => isOfSameRequest(stored.get(stamp.tokenId), stamp));
      return countWhileHeld(job, () => counters.settle({ mark, run, tallies: [...recounted, ...ours.map(({ tally }) => tally)] }));
    }
    const tallies = made.filter((_, index) => isNew[index]).map(({ tally }) => tally);
    if (tallies.length > 0) await countWhileHeld(job, () => countTogether({ mark, run, tallies }));
  }

  const writing = createBatcher<JobWrites>({
    maxSize: mostStampsTogether,
    sizeOf: ({ made }) => Math.max(leastSize, made.length),
    flush: async (jobs) => {
      const made = jobs.flatMap((job) => job.made);
      const { stored, added } = made.length > 0 ? await stamps.insertOnce(made.map(({ stamp }) => stamp)) : { stored: [], added: [] };
      const addedIds = new Set(added.map(({ tokenId }) => tokenId));
      const storedById: StoredById = new Map(stored.map((stamp) => [stamp.tokenId, stamp]));
      await directory.wrote(stored);
      for (const job of jobs) {
        const counted = count(job, storedById, addedIds);
        // Told where it is waited for, which may be later, or never where the run fails by something else.
        counted.catch(() => undefined);
        job.written = { stored: job.made.flatMap(({ stamp }) => storedById.get(stamp.tokenId) ?? []), counted };
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
      const isCounted = await answerWithin(longestCountingMs, () => counters.add([{ tallies }]).written.then(() => true));
      if (!isCounted) log.warn({ failed: tallies.length }, 'failures were not counted in time');
    },
  };
}
