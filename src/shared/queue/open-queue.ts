import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { prefixOf, warnOfError } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
import { inJobForm, type JobName, type QueueName } from './jobs.ts';

/** Opens a queue to add or read jobs. Each added payload gets the number of its form. */
export function openQueue<Payload>(name: QueueName, { redis, log }: { redis: Redis; log: Logger }): Queue<Payload> {
  const queue = new Queue<Payload>(name, {
    connection: redis,
    prefix: prefixOf(redis),
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 100 } },
  });
  const add = queue.add.bind(queue);
  queue.add = (job, payload, options) => add(job, inJobForm(payload), options);
  queue.on('error', (error) => warnOfError(redis, log, `the queue ${name}`, error));
  return queue;
}

/** The key of a job in Redis. */
export const jobKeyOf = (redis: Redis, queue: string, id = ''): string => `${prefixOf(redis)}:${queue}:${id}`;

/** So many attempts that a job is retried until it succeeds: an accepted request is always done once the servers are back. */
const unlimitedAttempts = 1_000_000;

/** The options of BullMQ for a kind of job. `retryDelayMs` computes the retry pauses. A job that was given up stays until an operator decides. */
export const jobOptionsOf = (kind: string) => ({
  attempts: unlimitedAttempts,
  backoff: { type: kind },
  removeOnComplete: true,
  removeOnFail: false,
});

interface RetryPauses {
  readonly first: number;
  readonly longest: number;
}

/**
 * The first and the longest pause between attempts, in milliseconds, if they differ from `defaultRetry`. Greylisting mail servers accept a mail only
 * after minutes. A completion whose root cannot be stamped is also retried slowly; a new request of the caller starts it at once.
 */
const retries: Readonly<Record<string, RetryPauses>> = {
  'otp-mail': { first: 1_000, longest: 300_000 },
  'completion-mail': { first: 1_000, longest: 300_000 },
  'workflow-completion': { first: 200, longest: 60_000 },
  webhook: { first: 1_000, longest: 900_000 },
  // Renewals are due months before the evidence expires.
  'qstamp-renew': { first: 30_000, longest: 3_600_000 },
} satisfies Partial<Record<JobName, RetryPauses>>;
const defaultRetry = { first: 200, longest: 5_000 };
/** The pause of a job that belongs to another version of the service. */
export const unknownJobRetryMs = 60_000;

/** Returns the longest pause of a job of this kind, in milliseconds, whatever the reason for the pause. */
export const longestPauseMs = (kind: string): number => Math.max((retries[kind] ?? defaultRetry).longest, unknownJobRetryMs);

/** Returns the pause before the next attempt, in milliseconds. It doubles from the first to the longest pause of the kind. Half of it is random. */
export function retryDelayMs(attemptsMade: number, kind = '', random = Math.random()): number {
  const { first, longest } = retries[kind] ?? defaultRetry;
  const delayMs = Math.min(first * 2 ** Math.min(attemptsMade - 1, 10), longest);
  return Math.round(delayMs / 2 + (random * delayMs) / 2);
}
