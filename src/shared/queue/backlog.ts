import { randomUUIDv7 } from 'node:crypto';
import type { Redis } from 'ioredis';
import { idInBatch, mostIdsInBatch } from '../domain/stamp-id.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';
import { maxItemsPerJob, stampQueueName } from './stamp-job.ts';

const queueKey = (name: string): string => `${keyPrefix}:${stampQueueName}:${name}`;
/** Of all jobs in Redis, those under way too, how many stamps they carry: what many jobs carry cannot be added up at each look. */
const unfinishedKey = `${keyPrefix}:unfinished-stamps`;

/**
 * Makes the ids of jobs: time and counter, as a UUID version 7 carries them, and the number of the items. Those of one process sort as they were
 * made, also within a millisecond, unless its clock is set back: their time is that of the clock.
 */
export function createJobIds(): (items: number) => string {
  let batchId = randomUUIDv7();
  let made = 0;
  return (items) => {
    const fresh = randomUUIDv7();
    if (timeOf(fresh) !== timeOf(batchId) || made === mostIdsInBatch) [batchId, made] = [fresh, 0];
    const id = `${idInBatch(batchId, made)}-${items}`;
    made += 1;
    return id;
  };
}

/** How many stamps a job carries, as its id says. */
export const itemsOf = (jobId: string): number => Number(jobId.slice(jobId.lastIndexOf('-') + 1));

/** RFC 9562 §5.7: the first 48 bits are milliseconds since the Unix epoch. */
export const timeOf = (jobId: string): number => Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16);

/** Up to so many waiting jobs are looked at one by one; of more, so many of the newest and of the oldest. */
const shownJobs = 256;

/**
 * KEYS: wait, paused, delayed, active, unfinished. ARGV: `shownJobs`, the most stamps of a job. The answer: stamps that wait, the id of the oldest job seen ('' for
 * none), ids of the newest jobs.
 *
 * Few jobs are added up, and the sum is written down: a counter beside the queue is wrong after some crashes, and so becomes right again.
 * For many jobs the counter is taken, within what so many jobs can carry.
 */
const look = `
  local shown = tonumber(ARGV[1])
  local sumOf = function(ids)
    local sum = 0
    for _, id in ipairs(ids) do sum = sum + (tonumber(string.match(id, '%d+$')) or 0) end
    return sum
  end
  local jobs = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) + redis.call('ZCARD', KEYS[3])
  local newest = redis.call('LRANGE', KEYS[1], 0, shown - 1)
  local seen = {
    newest,
    redis.call('LRANGE', KEYS[1], -shown, -1),
    redis.call('LRANGE', KEYS[2], -shown, -1),
    redis.call('ZRANGE', KEYS[3], 0, shown - 1)
  }
  local oldest = ''
  for _, ids in ipairs(seen) do
    for _, id in ipairs(ids) do if oldest == '' or id < oldest then oldest = id end end
  end
  local active = sumOf(redis.call('LRANGE', KEYS[4], 0, -1))
  local counted = tonumber(redis.call('GET', KEYS[5])) or 0
  local waiting
  if jobs <= shown then
    waiting = sumOf(newest) + sumOf(seen[3]) + sumOf(seen[4])
    if counted ~= waiting + active then redis.pcall('SET', KEYS[5], waiting + active) end
  else
    waiting = math.max(jobs, math.min(counted - active, tonumber(ARGV[2]) * jobs))
  end
  return { waiting, oldest, unpack(newest) }
`;

/** What waits in the queue of stamps, or is to be tried again. */
export interface QueueState {
  /** Stamps, not jobs, that wait or are to be tried again. Beyond 256 jobs: as they were counted one by one when they came and went. */
  readonly waiting: number;
  /** When the oldest was accepted, in milliseconds since the epoch, of up to 256 jobs that are next; null when none waits. */
  readonly oldestAt: number | null;
}

export interface Backlog extends QueueState {
  /** Ids of the jobs that came last. */
  readonly newest: readonly string[];
}

/** Looks at what waits; it takes as long for a million stamps as for some hundred. */
export async function readBacklog(redis: Redis): Promise<Backlog> {
  const keys = [...['wait', 'paused', 'delayed', 'active'].map(queueKey), unfinishedKey];
  const answer = await redis.eval(look, keys.length, ...keys, shownJobs, maxItemsPerJob);
  const [waiting, oldest, ...newest] = answer as [number, string, ...string[]];
  return { waiting, oldestAt: oldest === '' ? null : timeOf(oldest), newest };
}

/** Counts the stamps of a job that is about to be added. Send it ahead of the job on the same connection, and only the first time. */
export const countEntering = (redis: Redis, jobId: string): Promise<unknown> => redis.incrby(unfinishedKey, itemsOf(jobId));

/** How long a worker gathers what it has finished: with `appendfsync always` each write is a sync, which a caller may have to wait for. */
const gatherMs = 100;

/** Takes the stamps of finished jobs out of the count. */
export interface FinishedCount {
  /** Once for each job that has left Redis, and not for one that was taken over by another worker. */
  add(jobId: string): void;
  flush(): void;
}

export function createFinishedCount({ redis, log }: { redis: Redis; log: Logger }): FinishedCount {
  let stamps = 0;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (stamps > 0) redis.decrby(unfinishedKey, stamps).catch((error) => log.debug({ err: error }, 'finished stamps were not counted'));
    stamps = 0;
  }

  return {
    add: (jobId) => {
      stamps += itemsOf(jobId);
      timer ??= setTimeout(flush, gatherMs);
    },
    flush,
  };
}
