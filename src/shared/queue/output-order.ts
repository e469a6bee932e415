import type { Redis } from 'ioredis';
import { timeOfId } from '../domain/stamp.ts';
import { prefixOf } from '../redis/connection.ts';
import { type StampItem, stampQueueName } from './jobs.ts';
import { jobKeyOf } from './open-queue.ts';

/** The key of a sorted set: the jobs that have unfinished outputs of a workflow. Their ids begin with a time, so the set sorts by time. */
const keyOf = (redis: Redis, workflowId: string): string => `${prefixOf(redis)}:outputs:${workflowId}`;

/** Entries that a crash leaves behind expire after this time. */
const keptForSeconds = 7 * 24 * 3_600;

/**
 * Records that a job has outputs of workflows. Call this before the job is sent, on the same connection. Then the record exists before a worker can
 * take this job or a later one.
 */
export async function announceOutputs(redis: Redis, jobId: string, items: readonly StampItem[]): Promise<void> {
  const keys = new Set(items.flatMap(({ output }) => (output ? [keyOf(redis, output.workflowId)] : [])));
  await Promise.all([...keys].flatMap((key) => [redis.zadd(key, 0, jobId), redis.expire(key, keptForSeconds)]));
}

/** `ready`: the jobs that no earlier job has to precede. `blockedBy`: the job that the other jobs wait for. */
interface Turn {
  readonly ready: readonly string[];
  readonly blockedBy: string | undefined;
}

/** The order in which the outputs of a workflow were accepted, for the workers (W8). */
export interface OutputOrder {
  /** Tells which of these jobs may append their outputs now. */
  readTurn(workflowId: string, jobIds: ReadonlySet<string>): Promise<Turn>;
  /** Resolves to true if outputs that were accepted before `timeMs` (Unix, milliseconds) are still in progress. */
  hasEarlier(workflowId: string, timeMs: number): Promise<boolean>;
  /** Removes jobs that have nothing more to append, or that others should not wait for. */
  leave(workflowId: string, jobIds: readonly string[]): Promise<void>;
}

export function createOutputOrder(redis: Redis): OutputOrder {
  async function leave(workflowId: string, jobIds: readonly string[]): Promise<void> {
    if (jobIds.length > 0) await redis.zrem(keyOf(redis, workflowId), ...jobIds);
  }

  async function readTurn(workflowId: string, jobIds: ReadonlySet<string>): Promise<Turn> {
    const key = keyOf(redis, workflowId);
    for (;;) {
      // Ask for one job more than `jobIds` has. Then the result includes another job, if there is one.
      const first = await redis.zrange(key, '0', String(jobIds.size));
      const blockedBy = first.find((jobId) => !jobIds.has(jobId));
      if (blockedBy === undefined) return { ready: [...new Set([...first, ...jobIds])], blockedBy };
      const ready = first.slice(0, first.indexOf(blockedBy));
      if (ready.length > 0) return { ready, blockedBy };
      if ((await redis.exists(jobKeyOf(redis, stampQueueName, blockedBy))) === 0) {
        // The blocking job never arrived in the queue, or it ended without leaving the order.
        await leave(workflowId, [blockedBy]);
        continue;
      }
      // A job that was removed from the order does not wait for other jobs.
      const places = await redis.zmscore(key, ...jobIds);
      return { ready: [...jobIds].filter((_, index) => places[index] === null), blockedBy };
    }
  }

  async function hasEarlier(workflowId: string, timeMs: number): Promise<boolean> {
    for (;;) {
      const [first] = await redis.zrange(keyOf(redis, workflowId), '0', '0');
      if (first === undefined || timeOfId(first) > timeMs) return false;
      if ((await redis.exists(jobKeyOf(redis, stampQueueName, first))) === 1) return true;
      await leave(workflowId, [first]);
    }
  }

  return { readTurn, hasEarlier, leave };
}
