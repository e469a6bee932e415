import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { startLivedClock } from '../runtime/lived-clock.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';
import { stampQueueName } from './stamp-job.ts';

const waitKey = `${keyPrefix}:${stampQueueName}:wait`;
const pausedKey = `${keyPrefix}:${stampQueueName}:paused`;
const delayedKey = `${keyPrefix}:${stampQueueName}:delayed`;

export const depthRefreshMs = 250;

/** How many stamps wait, counting those of every API process. */
export interface DepthGauge {
  /** Stamps waiting as of the last look, plus what this process has added since. */
  current(): number;
  /** Tells of a job that Redis has just acknowledged, or may have taken. */
  added(jobId: string): void;
  /** How long, in milliseconds, this process has lived since it began the last look that Redis answered. */
  silentForMs(): number;
  stop(): Promise<void>;
}

/** The id of a job: its time, as a UUID version 7 carries it, and the number of its items. */
export const jobIdOf = (uuidV7: string, items: number): string => `${uuidV7}-${items}`;

const itemsOf = (jobId: string): number => Number(jobId.slice(jobId.lastIndexOf('-') + 1));
/** RFC 9562 §5.7: the first 48 bits are milliseconds since the Unix epoch. */
const timeOf = (jobId: string): number => Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16);

/** What waits in the queue of stamps, or is to be tried again. */
export interface QueueState {
  /** Stamps, not jobs. */
  readonly waiting: number;
  /** When the oldest of them was accepted, in milliseconds since the epoch; null when none waits. */
  readonly oldestAt: number | null;
}

async function readJobIds(redis: Redis): Promise<string[]> {
  const lists = await Promise.all([redis.lrange(waitKey, 0, -1), redis.lrange(pausedKey, 0, -1), redis.zrange(delayedKey, '0', '-1')]);
  return lists.flat();
}

const itemsOfAll = (jobIds: Iterable<string>): number => {
  let items = 0;
  for (const jobId of jobIds) items += itemsOf(jobId);
  return items;
};

/** Both figures come from the ids of the jobs. A counter beside the queue would be wrong after a crash. */
export async function readQueueState(redis: Redis): Promise<QueueState> {
  const jobIds = await readJobIds(redis);
  const oldestAt = jobIds.reduce<number | null>((oldest, jobId) => Math.min(oldest ?? Number.POSITIVE_INFINITY, timeOf(jobId)), null);
  return { waiting: itemsOfAll(jobIds), oldestAt };
}

export function createDepthGauge(options: { redis: Redis; log: Logger }): DepthGauge {
  const stopping = new AbortController();
  let addedSince = new Set<string>();
  let current = 0;
  const clock = startLivedClock();
  let answeredAt = clock.now();

  /** Jobs added while Redis was read may be in what was read or not; those that are in it are not counted twice. */
  async function refresh(): Promise<void> {
    const addedBefore = new Set(addedSince);
    const askedAt = clock.now();
    const seen = new Set(await readJobIds(options.redis));
    answeredAt = askedAt;
    addedSince = addedSince.difference(addedBefore).difference(seen);
    current = itemsOfAll(seen) + itemsOfAll(addedSince);
  }

  async function refreshUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await refresh();
      } catch (error) {
        options.log.debug({ err: error }, 'the depth of the queue cannot be read');
      }
      await delay(depthRefreshMs, undefined, { signal: stopping.signal }).catch((error: Error) => {
        if (error.name !== 'AbortError') throw error;
      });
    }
  }

  const refreshing = refreshUntilStopped();
  return {
    current: () => current,
    silentForMs: () => clock.now() - answeredAt,
    added: (jobId) => {
      addedSince.add(jobId);
      current += itemsOf(jobId);
    },
    stop: async () => {
      stopping.abort();
      await refreshing;
      clock.stop();
    },
  };
}
