import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from '../log.ts';
import { keyPrefix } from './connection.ts';
import { stampQueueName } from './stamp-job.ts';

const waitKey = `${keyPrefix}:${stampQueueName}:wait`;
const pausedKey = `${keyPrefix}:${stampQueueName}:paused`;
const delayedKey = `${keyPrefix}:${stampQueueName}:delayed`;

const refreshMs = 250;

/** How many stamps wait, counting those of every API process. */
export interface DepthGauge {
  /** Stamps waiting as of the last look, plus what this process has added since. */
  current(): number;
  added(stamps: number): void;
  stop(): Promise<void>;
}

/**
 * Counts the stamps (not the jobs) that wait or are to be retried. A job's id ends in `-<number of its items>`, so that the
 * count needs no counter beside the queue, which a crash would leave wrong.
 */
export async function countWaitingStamps(redis: Redis): Promise<number> {
  const ids = await Promise.all([redis.lrange(waitKey, 0, -1), redis.lrange(pausedKey, 0, -1), redis.zrange(delayedKey, '0', '-1')]);
  return ids.flat().reduce((sum, id) => sum + Number(id.slice(id.lastIndexOf('-') + 1)), 0);
}

export function createDepthGauge(options: { redis: Redis; log: Logger }): DepthGauge {
  const stopping = new AbortController();
  let counted = 0;
  let addedSince = 0;

  async function refresh(): Promise<void> {
    const before = addedSince;
    counted = await countWaitingStamps(options.redis);
    addedSince -= before;
  }

  async function refreshUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await refresh();
      } catch (error) {
        options.log.debug({ err: error }, 'the depth of the queue cannot be read');
      }
      await delay(refreshMs, undefined, { signal: stopping.signal }).catch((error: Error) => {
        if (error.name !== 'AbortError') throw error;
      });
    }
  }

  const refreshing = refreshUntilStopped();
  return {
    current: () => counted + addedSince,
    added: (stamps) => {
      addedSince += stamps;
    },
    stop: async () => {
      stopping.abort();
      await refreshing;
    },
  };
}
