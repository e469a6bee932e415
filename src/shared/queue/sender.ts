import { type Job, Queue } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { keyPrefix } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
import { inJobForm, type JobName, type JobPayload, jobContracts, type QueueName } from './jobs.ts';
import { announceOutputs } from './output-order.ts';

/** The kinds of jobs that processes send. The other kinds have schedules. */
type SentJob = Extract<JobName, 'stamp' | 'promised-stamp' | 'otp-mail' | 'completion-mail' | 'workflow-completion' | 'webhook'>;

export interface JobSender {
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
