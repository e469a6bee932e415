import type { Redis } from 'ioredis';
import { timeOfId } from '../domain/stamp-id.ts';
import { keyPrefix } from './connection.ts';
import { type StampItem, stampQueueName } from './stamp-job.ts';

/** The jobs that carry outputs of a workflow and are not done with them. Their ids begin with a time, and sort by it. */
const keyOf = (workflowId: string): string => `${keyPrefix}:outputs:${workflowId}`;
const jobKeyOf = (jobId: string): string => `${keyPrefix}:${stampQueueName}:${jobId}`;

/** What a crash leaves behind goes away by itself. */
const keptForSeconds = 7 * 24 * 3_600;

/**
 * Notes that a job carries outputs of workflows. Send it ahead of the job on the same connection: a job that a worker can take is noted
 * then, and before any that is sent later.
 */
export async function announceOutputs(redis: Redis, jobId: string, items: readonly StampItem[]): Promise<void> {
  const keys = new Set(items.flatMap(({ output }) => (output ? [keyOf(output.workflowId)] : [])));
  await Promise.all([...keys].flatMap((key) => [redis.zadd(key, 0, jobId), redis.expire(key, keptForSeconds)]));
}

/** Whose turn it is: of the jobs asked about, those that no earlier one precedes, in order; and the one that keeps the others waiting. */
export interface Turn {
  readonly ready: readonly string[];
  readonly blockedBy: string | undefined;
}

/** The order in which the outputs of a workflow were accepted, as the workers see it (W8). */
export interface OutputOrder {
  readTurn(workflowId: string, jobIds: ReadonlySet<string>): Promise<Turn>;
  /** Whether outputs that were accepted before that time (Unix, milliseconds) are on their way still. */
  hasEarlier(workflowId: string, timeMs: number): Promise<boolean>;
  /** Says that jobs have nothing more to append, or are not to be waited for. */
  leave(workflowId: string, jobIds: readonly string[]): Promise<void>;
}

export function createOutputOrder(redis: Redis): OutputOrder {
  async function leave(workflowId: string, jobIds: readonly string[]): Promise<void> {
    if (jobIds.length > 0) await redis.zrem(keyOf(workflowId), ...jobIds);
  }

  async function readTurn(workflowId: string, jobIds: ReadonlySet<string>): Promise<Turn> {
    const key = keyOf(workflowId);
    for (;;) {
      // One more than could be ours: a job of somebody else is among them, or there is none.
      const first = await redis.zrange(key, '0', String(jobIds.size));
      const blockedBy = first.find((jobId) => !jobIds.has(jobId));
      if (blockedBy === undefined) return { ready: [...new Set([...first, ...jobIds])], blockedBy };
      const ready = first.slice(0, first.indexOf(blockedBy));
      if (ready.length > 0) return { ready, blockedBy };
      if ((await redis.exists(jobKeyOf(blockedBy))) === 0) {
        // It never arrived, or ended without leaving.
        await leave(workflowId, [blockedBy]);
        continue;
      }
      // Those that are not in line any more were waited for long enough: they wait for nobody.
      const places = await redis.zmscore(key, ...jobIds);
      return { ready: [...jobIds].filter((_, index) => places[index] === null), blockedBy };
    }
  }

  async function hasEarlier(workflowId: string, timeMs: number): Promise<boolean> {
    for (;;) {
      const [first] = await redis.zrange(keyOf(workflowId), '0', '0');
      if (first === undefined || timeOfId(first) > timeMs) return false;
      if ((await redis.exists(jobKeyOf(first))) === 1) return true;
      await leave(workflowId, [first]);
    }
  }

  return { readTurn, hasEarlier, leave };
}
