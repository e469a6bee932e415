import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { itemsOf, readBacklog } from './backlog.ts';
import { startLivedClock } from './lived-clock.ts';

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

const itemsOfAll = (jobIds: Iterable<string>): number => {
  let items = 0;
  for (const jobId of jobIds) items += itemsOf(jobId);
  return items;
};

export function createDepthGauge(options: { redis: Redis; log: Logger }): DepthGauge {
  const stopping = new AbortController();
  let addedSince = new Set<string>();
  /** Jobs that the last look saw. */
  let seen = new Set<string>();
  let current = 0;
  const clock = startLivedClock();
  let answeredAt = clock.now();

  /** Jobs added while Redis was read may be in what was read or not; those that are in it are not counted twice. */
  async function refresh(): Promise<void> {
    const addedBefore = new Set(addedSince);
    const askedAt = clock.now();
    const { waiting, newest } = await readBacklog(options.redis);
    answeredAt = askedAt;
    seen = new Set(newest);
    addedSince = addedSince.difference(addedBefore).difference(seen);
    current = waiting + itemsOfAll(addedSince);
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
      // The answers to a job and to the look after it may be read together, and the look's be understood first.
      if (seen.has(jobId)) return;
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
