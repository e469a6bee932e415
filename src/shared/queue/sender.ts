import { type Job, Queue } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { timeOfId } from '../domain/stamp.ts';
import { keyPrefix } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
import { inJobForm, type JobName, type JobPayload, jobContracts, type QueueName, type StampItem, stampQueueName } from './jobs.ts';

/** The kinds of jobs that processes send. The other kinds have schedules. */
type SentJob = Extract<JobName, 'stamp' | 'promised-stamp' | 'otp-mail' | 'completion-mail' | 'workflow-completion' | 'webhook'>;

interface JobSender {
  /** Checks that Redis is connected. @throws ServiceError `queue_unavailable` if it is not */
  checkConnection(): void;
  /**
   * Resolves when Redis has acknowledged the job, or when the wait for Redis has timed out. If the queue already has a job with this id (waiting,
   * running, to be retried or given up), nothing is added.
   *
   * @throws ServiceError `queue_unavailable` if the job certainly did not reach Redis
   */
  send<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<Acceptance>;
  close(): Promise<void>;
}

export function createJobSender({ redis, log }: { redis: Redis; log: Logger }): JobSender {
  const queues = new Map<QueueName, Queue>();

  function queueOf(name: SentJob): Queue {
    const { queue } = jobContracts[name];
    const known = queues.get(queue);
    if (known) return known;
    const opened = openQueue(queue, { redis, log });
    queues.set(queue, opened);
    return opened;
  }

  async function add<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<void> {
    const announcing = 'items' in payload && announceOutputs(redis, jobId, payload.items);
    const adding = queueOf(name).add(name, payload, { ...jobOptionsOf(name), jobId });
    // The job counts as accepted even if the order of its outputs cannot be recorded: only the job itself was promised.
    await Promise.allSettled([announcing, adding]);
    const job = await adding;
    // The caller asks for the completion now, so it must not wait for the end of its retry pause.
    if (name === 'workflow-completion') await promote(job);
  }

  /** Ends the pause of a delayed job. If this fails, the job has just started by itself, or it will start after its pause. */
  async function promote(job: Job): Promise<void> {
    try {
      if (await job.isDelayed()) await job.promote();
    } catch (error) {
      log.debug({ err: error, job: job.id }, 'a delayed job could not be started early');
    }
  }

  return {
    checkConnection: () => checkConnection(redis),
    send: (name, payload, jobId) => acceptanceOf(redis, () => add(name, payload, jobId)),
    close: async () => void (await Promise.all([...queues.values()].map((queue) => queue.close()))),
  };
}

/** So many attempts that a job is retried until it succeeds: an accepted request is always done once the servers are back. */
const unlimitedAttempts = 1_000_000;

/** The options of BullMQ for a kind of job. `retryDelayMs` computes the retry pauses. A job that was given up stays until an operator decides. */
export const jobOptionsOf = (kind: string) => ({
  attempts: unlimitedAttempts,
  backoff: { type: kind },
  removeOnComplete: true,
  removeOnFail: false,
});

/** Opens a queue to add or read jobs. Each added payload gets the number of its form. */
export function openQueue<Payload>(name: QueueName, { redis, log }: { redis: Redis; log: Logger }): Queue<Payload> {
  const queue = new Queue<Payload>(name, {
    connection: redis,
    prefix: keyPrefix,
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 100 } },
  });
  const add = queue.add.bind(queue);
  queue.add = (job, payload, options) => add(job, inJobForm(payload), options);
  queue.on('error', (error) => log.debug({ err: error }, 'a queue reported an error'));
  return queue;
}

/** Makes the error for a job that Redis does not accept (E10). */
export const queueUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('queue_unavailable', 'The queue cannot accept requests at the moment.', { retryAfterSeconds: 2, cause });

/** Checks that Redis is connected. @throws ServiceError `queue_unavailable` if it is not */
export function checkConnection(redis: Redis): void {
  if (redis.status !== 'ready') throw queueUnavailable('not connected');
}

/** The result of adding a job. `unanswered`: the command was sent but not answered, so the job may or may not be in the queue. */
export type Acceptance = 'acknowledged' | 'unanswered';

/** The message of ioredis 6 for a command that it did not send. */
const neverSent = "Stream isn't writeable";

/**
 * Adds a job and reports the result. It throws only if the job certainly did not reach the queue (not sent, or refused by Redis), because the caller
 * then gets 503 and sends the request again (E11).
 *
 * @throws ServiceError `queue_unavailable`
 */
async function acceptanceOf(redis: Redis, add: () => Promise<unknown>): Promise<Acceptance> {
  checkConnection(redis);
  try {
    await add();
    return 'acknowledged';
  } catch (error) {
    if (error instanceof ReplyError || (error instanceof Error && error.message.startsWith(neverSent))) throw queueUnavailable(error);
    return 'unanswered';
  }
}

/** The key of a sorted set: the jobs that have unfinished outputs of a workflow. Their ids begin with a time, so the set sorts by time. */
const keyOf = (workflowId: string): string => `${keyPrefix}:outputs:${workflowId}`;
const jobKeyOf = (jobId: string): string => `${keyPrefix}:${stampQueueName}:${jobId}`;

/** Entries that a crash leaves behind expire after this time. */
const keptForSeconds = 7 * 24 * 3_600;

/**
 * Records that a job has outputs of workflows. Call this before the job is sent, on the same connection. Then the record exists before a worker can
 * take this job or a later one.
 */
export async function announceOutputs(redis: Redis, jobId: string, items: readonly StampItem[]): Promise<void> {
  const keys = new Set(items.flatMap(({ output }) => (output ? [keyOf(output.workflowId)] : [])));
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
    if (jobIds.length > 0) await redis.zrem(keyOf(workflowId), ...jobIds);
  }

  async function readTurn(workflowId: string, jobIds: ReadonlySet<string>): Promise<Turn> {
    const key = keyOf(workflowId);
    for (;;) {
      // Ask for one job more than `jobIds` has. Then the result includes another job, if there is one.
      const first = await redis.zrange(key, '0', String(jobIds.size));
      const blockedBy = first.find((jobId) => !jobIds.has(jobId));
      if (blockedBy === undefined) return { ready: [...new Set([...first, ...jobIds])], blockedBy };
      const ready = first.slice(0, first.indexOf(blockedBy));
      if (ready.length > 0) return { ready, blockedBy };
      if ((await redis.exists(jobKeyOf(blockedBy))) === 0) {
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
      const [first] = await redis.zrange(keyOf(workflowId), '0', '0');
      if (first === undefined || timeOfId(first) > timeMs) return false;
      if ((await redis.exists(jobKeyOf(first))) === 1) return true;
      await leave(workflowId, [first]);
    }
  }

  return { readTurn, hasEarlier, leave };
}
