import { setTimeout as delay } from 'node:timers/promises';
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { createFinishedCount } from './backlog.ts';
import { keyPrefix } from './connection.ts';
import { createHold } from './job-hold.ts';
import { type JobName, type JobProcessors, type JobRun, jobContracts, NotItsTurnError, queueConcurrency } from './jobs.ts';

/** A killed worker's jobs start again after at most `lockMs` + `stalledCheckMs` (docs/architecture.md "Facts that bite"). */
const lockMs = 5_000;
const stalledCheckMs = 2_000;

/** How long after a look at its lock a job is surely held, milliseconds. The lock lasts twice as long: what begins within this time has as much left to end. */
const surelyHeldMs = lockMs / 2;

/** However often workers are killed under a job, it is never given up. */
const unlimited = 1_000_000;

/**
 * Pauses between attempts, milliseconds. Mail servers that put off unknown senders (greylisting) want them back after minutes. A
 * completion whose root nobody can stamp is tried slowly too; a caller who asks again starts it at once.
 */
const retries: Readonly<Record<string, { readonly first: number; readonly longest: number }>> = {
  'otp-mail': { first: 1_000, longest: 300_000 },
  'workflow-completion': { first: 200, longest: 60_000 },
  webhook: { first: 1_000, longest: 900_000 },
  // Evidence is renewed months before it ends.
  'qstamp-renew': { first: 30_000, longest: 3_600_000 },
};
const defaultRetry = { first: 200, longest: 5_000 };

/** When the next attempt at a failed job is due, in milliseconds: doubling from 0.2 s to 5 s, or as its kind says, half of it random. */
export function retryDelayMs(attemptsMade: number, kind = '', random: () => number = Math.random): number {
  const { first, longest } = retries[kind] ?? defaultRetry;
  const delayMs = Math.min(first * 2 ** Math.min(attemptsMade - 1, 10), longest);
  return Math.round(delayMs / 2 + (random() * delayMs) / 2);
}

/** The job is of another version of the service: a worker of that version will take it. */
class UnknownJobError extends Error {
  override readonly name = 'UnknownJobError';
}

const unknownJobRetryMs = 60_000;

/** KEYS: the lock of a job, the job. ARGV: who holds it, the new payload. BullMQ itself would replace the payload of a job that another worker runs. */
const replaceWhileLocked = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[2], 'data', ARGV[2])
  return 1
`;

/**
 * When Redis is lost while a worker stops: how long its jobs may still run, and how long Redis then has to come back and take their
 * outcome.
 */
const finishWithoutRedisMs = 10_000;
const farewellMs = 1_000;

export interface Consumer {
  /** Takes no new job and resolves when those under way have ended. */
  close(): Promise<void>;
}

/** Runs the jobs of every queue in this process, at most `concurrency` of each queue at a time. */
export function consumeJobs(options: {
  redis: Redis;
  processors: JobProcessors;
  concurrency: number;
  log: Logger;
  /** Told of each run of a job that failed. */
  onFailed?: (job: string) => void;
}): Consumer {
  const { redis, processors, concurrency, log, onFailed } = options;

  async function run<Name extends JobName>(name: Name, job: Job, lock: string | undefined): Promise<void> {
    const payload = jobContracts[name].payload.safeParse(job.data);
    if (!payload.success) throw new UnknownJobError(`the payload does not fit its contract: ${payload.error.message}`);
    const writing: Promise<unknown>[] = [];
    const process = processors[name] as (payload: unknown, run: JobRun) => Promise<void>;
    const extendLock = async () => lock !== undefined && (await job.extendLock(lock, lockMs)) === 1;
    const isOurs = createHold(job.processedOn ?? 0, surelyHeldMs, extendLock);
    const processing = process(payload.data, {
      jobId: job.id ?? '',
      run: job.attemptsStarted,
      isRetry: job.attemptsStarted > 1,
      life: `${job.id}@${job.timestamp}`,
      isOurs,
      note: (noted) => replacePayload(job, lock, noted),
      keepOnly: async (rest) => {
        await replacePayload(job, lock, rest);
        ended(job, true);
      },
      endsAfter: (write) => void writing.push(write),
      onEnd: (end) => void endings.set(job, [...(endings.get(job) ?? []), end]),
    });
    await processing.finally(() => Promise.allSettled(writing));
    await Promise.all(writing);
  }

  /** @throws where another worker has taken the job over, or Redis is away */
  async function replacePayload({ queueName, id }: Job, lock: string | undefined, payload: object): Promise<void> {
    const key = `${keyPrefix}:${queueName}:${id}`;
    const isReplaced = await redis.eval(replaceWhileLocked, 2, `${key}:lock`, key, lock ?? '', JSON.stringify(payload));
    if (isReplaced !== 1) throw new Error('another worker has taken the job over');
  }

  const endings = new WeakMap<Job, readonly ((isDone: boolean) => void)[]>();

  function ended(job: Job, isDone: boolean): void {
    for (const end of endings.get(job) ?? []) end(isDone);
    endings.delete(job);
  }

  const finished = createFinishedCount({ redis, log });
  const running = new Set<Promise<void>>();

  async function putOff(job: Job, lock: string | undefined, error: unknown): Promise<never> {
    if (!(error instanceof NotItsTurnError)) throw error;
    await job.moveToDelayed(Date.now() + error.waitMs, lock);
    throw new DelayedError();
  }

  function process(job: Job, lock?: string): Promise<void> {
    if (!Object.hasOwn(jobContracts, job.name)) return Promise.reject(new UnknownJobError(`no processor for a job named ${job.name}`));
    const ended = run(job.name as JobName, job, lock)
      .catch((error) => putOff(job, lock, error))
      .finally(() => running.delete(ended));
    running.add(ended);
    return ended;
  }

  /** Lets the running jobs end, then waits a moment for Redis to come back and take their outcome. */
  async function finishWithout(redis: Redis): Promise<void> {
    await new Promise<void>((resolve) => redis.once('close', resolve));
    await Promise.race([Promise.allSettled(running), delay(finishWithoutRedisMs, undefined, { ref: false })]);
    await delay(farewellMs, undefined, { ref: false });
  }

  const queues = [...new Set(Object.values(jobContracts).map(({ queue }) => queue))];
  const workers = queues.map((queue) => {
    const worker = new Worker(queue, process, {
      connection: redis,
      prefix: keyPrefix,
      concurrency: Math.min(concurrency, queueConcurrency[queue] ?? concurrency),
      lockDuration: lockMs,
      stalledInterval: stalledCheckMs,
      maxStalledCount: unlimited,
      settings: {
        backoffStrategy: (attemptsMade, kind, error) =>
          error instanceof UnknownJobError ? unknownJobRetryMs : retryDelayMs(attemptsMade, kind),
      },
    });
    worker.on('completed', (job) => {
      ended(job, true);
      if (job.name === 'stamp') finished.add(job.id ?? '');
    });
    worker.on('failed', (job, error) => {
      if (job) ended(job, false);
      log.warn({ err: error, queue, job: job?.id, attempts: job?.attemptsMade }, 'a job failed');
      onFailed?.(job !== undefined && Object.hasOwn(jobContracts, job.name) ? job.name : 'unknown');
    });
    worker.on('stalled', (job) => log.warn({ queue, job }, 'a job was taken over from a lost worker'));
    worker.on('error', (error) => log.debug({ err: error, queue }, 'worker connection'));
    return worker;
  });
  return {
    close: async () => {
      // Without Redis no job can be handed back. Its lock runs out, and another worker starts it again.
      const isForced = redis.status !== 'ready';
      await Promise.race([Promise.all(workers.map((worker) => worker.close(isForced))), finishWithout(redis)]);
      finished.flush();
    },
  };
}

/** Makes sure that a job without payload runs every `everyMs`, once for all workers; a run that fails is tried again. */
export async function scheduleJob(
  redis: Redis,
  name: 'sweep' | 'counter-fold' | 'qstamp-renew',
  everyMs: number,
  log: Logger,
): Promise<void> {
  const queue = new Queue(jobContracts[name].queue, { connection: redis, prefix: keyPrefix });
  queue.on('error', (error) => log.debug({ err: error }, 'queue connection'));
  // Of all workers together, as `queueConcurrency` is of one.
  if (queueConcurrency[queue.name] === 1) await queue.setGlobalConcurrency(1);
  const retried = { attempts: unlimited, backoff: { type: name } };
  await queue.upsertJobScheduler(
    name,
    { every: everyMs },
    { name, data: {}, opts: { removeOnComplete: true, removeOnFail: { count: 10 }, ...(name in retries && retried) } },
  );
  await queue.close();
}
