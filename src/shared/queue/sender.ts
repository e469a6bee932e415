import { hash } from 'node:crypto';
import type { Job, Queue } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { checkScript } from '../redis/connection.ts';
import { isReplicated } from '../redis/replicas.ts';
import type { Logger } from '../runtime/log.ts';
import { createMicroBatcher } from '../runtime/micro-batcher.ts';
import { type JobName, type JobPayload, jobContracts, promisedQueueName, type QueueName, type StampItem, type StampJob } from './jobs.ts';
import { jobOptionsOf, openQueue } from './open-queue.ts';
import { announceOutputs } from './output-order.ts';

/** The kinds of jobs that processes send. The other kinds have schedules. */
type SentJob = Extract<JobName, 'stamp' | 'promised-stamp' | 'otp-mail' | 'completion-mail' | 'workflow-completion' | 'webhook'>;

interface JobSender {
  /** Checks that Redis is connected. @throws ServiceError `queue_unavailable` if it is not */
  checkConnection(): void;
  /** The number of replicas that confirm each job; 0 if the last one was not confirmed. */
  replicas(): number;
  /** Runs a script that writes, as each job does. Rejects if Redis refuses it. */
  checkWrite(): Promise<unknown>;
  /**
   * Resolves when Redis has acknowledged the job and enough replicas have it, or when the wait for them has timed out. If the queue already has a job with this id (waiting,
   * running, to be retried or given up), nothing is added.
   *
   * @throws ServiceError `queue_unavailable` if the job certainly did not reach Redis
   */
  send<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<Acceptance>;
  close(): Promise<void>;
}

type Stream = Redis['stream'];

/**
 * @param redis a connection of its own: while it waits for replicas, it answers nothing else
 * @param replicas the number of replicas that must have a job on disk before it counts as accepted
 */
export function createJobSender({ redis, replicas = 0, log }: { redis: Redis; replicas?: number; log: Logger }): JobSender {
  const queues = new Map<QueueName, Queue>();
  /** Whether enough replicas had the last jobs. */
  let isConfirmed = false;
  /**
   * One question for all jobs that were written before it. An answer counts only for jobs that this very connection wrote: a new connection may lead to
   * another primary, which has all writes of a client that has written nothing.
   */
  const confirmations = createMicroBatcher<Stream, boolean>({
    maxItems: Number.POSITIVE_INFINITY,
    maxUnderWay: 1,
    send: async (streams) => {
      const { stream } = redis;
      isConfirmed = (await isReplicated(redis, replicas, log)) && redis.stream === stream;
      return streams.map((ofJob) => isConfirmed && ofJob === stream);
    },
  });

  function queueOf(name: SentJob): Queue {
    const { queue } = jobContracts[name];
    const known = queues.get(queue);
    if (known) return known;
    const opened = openQueue(queue, { redis, log });
    queues.set(queue, opened);
    return opened;
  }

  /** Returns the connection that wrote the job. */
  async function add<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<Stream> {
    const announcing = 'items' in payload && announceOutputs(redis, jobId, payload.items);
    const adding = queueOf(name).add(name, payload, { ...jobOptionsOf(name), jobId });
    // The job counts as accepted even if the order of its outputs cannot be recorded: only the job itself was promised.
    await Promise.allSettled([announcing, adding]);
    const job = await adding;
    const { stream } = redis;
    // The caller asks for the completion now, so it must not wait for the end of its retry pause.
    if (name === 'workflow-completion') await promote(job);
    return stream;
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
    checkWrite: () => checkScript(redis),
    replicas: () => (isConfirmed ? replicas : 0),
    send: async (name, payload, jobId) => {
      let stream: Stream | undefined;
      const acceptance = await acceptanceOf(redis, async () => {
        stream = await add(name, payload, jobId);
      });
      if (!stream || replicas === 0) return acceptance;
      return (await confirmations.add(stream)) ? acceptance : 'unanswered';
    },
    close: async () => void (await Promise.all([...queues.values()].map((queue) => queue.close()))),
  };
}

/**
 * Puts the items of a running job into the queue of the stamps that nobody waits for. Resolves when Redis has confirmed them. If the worker dies
 * before it removes them from their old job, they are in both queues. Usually the second run finds the stamps of the first; if both
 * run at once, a TSA is asked twice, and one stamp is kept.
 */
export type HandOver = (replyTo: string, items: readonly StampItem[]) => Promise<void>;

export function createHandOver({ redis, log }: { redis: Redis; log: Logger }): { handOver: HandOver; close(): Promise<void> } {
  const queue = openQueue<StampJob>(promisedQueueName, { redis, log });
  return {
    handOver: async (replyTo, items) => {
      // The same items get the same id, so that a repetition adds nothing. Other items of the same job need another id: BullMQ would drop them.
      const jobId = hash('sha256', items.map(({ tokenId }) => tokenId).join()).slice(0, 32);
      const job: StampJob = { replyTo, isRepeated: true, items: items.map((item) => ({ ...item, isPromised: true })) };
      const timestamp = Math.min(...items.map(({ acceptedAt }) => acceptedAt));
      await queue.add('promised-stamp', job, { ...jobOptionsOf('promised-stamp'), jobId, timestamp });
    },
    close: () => queue.close(),
  };
}

/** Makes the error for a job that Redis does not accept (E10). */
export const queueUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('queue_unavailable', 'The queue cannot accept requests at the moment.', { retryAfterSeconds: 2, cause });

/** Checks that Redis is connected. @throws ServiceError `queue_unavailable` if it is not */
export function checkConnection(redis: Redis): void {
  if (redis.status !== 'ready') throw queueUnavailable('not connected');
}

/** The result of adding a job. `unanswered`: the job may or may not be in the queue, or a failover may lose it. */
export type Acceptance = 'acknowledged' | 'unanswered';

/** The messages of ioredis 6 for a command that it did not send. */
const neverSent = /^(Stream isn't writeable|Cluster isn't ready)/;

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
    if (error instanceof ReplyError || (error instanceof Error && neverSent.test(error.message))) throw queueUnavailable(error);
    return 'unanswered';
  }
}
