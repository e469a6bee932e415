import { z } from 'zod';
import { TransientError } from '../domain/service-error.ts';
import { isOfNewerForm, type QueueName } from './open-queue.ts';
import { promisedQueueName, stampJobSchema, stampQueueName } from './stamp-job.ts';

/** The payload of the job that mails a challenge. The challenge is derived from its id and a key that is not in Redis (W6). */
const otpMailSchema = z.object({
  workflowId: z.uuid(),
  challengeId: z.uuid(),
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** The public address of the service, for the link in the mail. Only the API knows it. */
  baseUrl: z.string(),
});

/**
 * The payload of the job that closes a workflow, and of the job that then mails its client. For the first, `acceptedAt` decides whether the request came
 * before the workflow expired.
 */
const workflowCompletionSchema = z.object({
  workflowId: z.uuid(),
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** For the links in the mail to the client. */
  baseUrl: z.string(),
});

const webhookBase = {
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** When the webhook was first sent without success. Undefined before the first try. */
  firstTriedAt: z.number().int().optional(),
};

/**
 * The payload of the job that sends a webhook. For a stamp, `callback` has the address and the product, encrypted with the stamp's key. For a
 * workflow, the record of the workflow has them.
 */
const webhookSchema = z.discriminatedUnion('event', [
  z.object({ ...webhookBase, event: z.enum(['stamp.made', 'output.made']), tokenId: z.uuid(), callback: z.string() }),
  z.object({ ...webhookBase, event: z.enum(['workflow.confirmed', 'workflow.completed']), workflowId: z.uuid() }),
]);

/** Every kind of job, with its queue and the contract of its payload. No payload has a secret, an e-mail address or content (architecture rule 6). */
export const jobContracts = {
  stamp: { queue: stampQueueName, payload: stampJobSchema },
  'promised-stamp': { queue: promisedQueueName, payload: stampJobSchema },
  sweep: { queue: 'maintenance', payload: z.object({}) },
  recount: { queue: 'maintenance', payload: z.object({}) },
  'qstamp-renew': { queue: 'renewals', payload: z.object({}) },
  'trusted-lists': { queue: 'maintenance', payload: z.object({}) },
  'otp-mail': { queue: 'emails', payload: otpMailSchema },
  /** The mail about a completed workflow. */
  'completion-mail': { queue: 'emails', payload: workflowCompletionSchema },
  'workflow-completion': { queue: 'workflows', payload: workflowCompletionSchema },
  webhook: { queue: 'webhooks', payload: webhookSchema },
} as const satisfies Record<string, { queue: QueueName; payload: z.ZodType }>;

/**
 * The maximum number of jobs of a queue that run at a time in one worker, if it is not the number for stamps. Too many mails at a time would flood
 * mail servers, a root needs much computing, and two renewals at a time would request the same token twice. Webhooks mostly wait for other servers.
 */
export const queueConcurrency: Readonly<Record<string, number>> = { emails: 8, workflows: 8, renewals: 1, webhooks: 128 };

/**
 * Returns the maximum number of jobs of a queue that run at a time in a worker. `concurrency`: the maximum for stamp jobs. Stamps that nobody waits
 * for get a quarter of it, so that they cannot delay those of other callers much.
 */
export function placesOf(queue: QueueName, concurrency: number): number {
  if (queue === promisedQueueName) return Math.max(1, Math.floor(concurrency / 4));
  return Math.min(concurrency, queueConcurrency[queue] ?? concurrency);
}

export type JobName = keyof typeof jobContracts;
export type JobPayload<Name extends JobName> = z.output<(typeof jobContracts)[Name]['payload']>;

/** A job that was given up. */
export type FailedJob = {
  readonly [Name in JobName]: { readonly name: Name; readonly id: string; readonly payload: JobPayload<Name> };
}[JobName];

/** Returns a job in the form of its contract, or undefined if it does not match: another version of the service wrote it. */
export function failedJobOf({ name, id = '', data }: { name: string; id?: string | undefined; data: unknown }): FailedJob | undefined {
  if (!Object.hasOwn(jobContracts, name) || isOfNewerForm(data)) return undefined;
  const payload = jobContracts[name as JobName].payload.safeParse(data);
  return payload.success ? ({ name, id, payload: payload.data } as FailedJob) : undefined;
}

/** A processor gets the payload of a job and this object. */
export interface JobRun {
  readonly jobId: string;
  /** Whether the job was started before. Then its results may already exist. */
  readonly isRetry: boolean;
  /**
   * Resolves to true if this worker still owns the job. A worker loses its jobs if it or Redis hangs for longer than a lock lasts; then they run
   * again in any worker. @throws if Redis is down
   */
  isOurs(): Promise<boolean>;
  /**
   * Replaces the payload with the part that remains for the next attempt. After that, the processor throws to get the next attempt. @throws if this
   * worker does not own the job any more, or Redis is down
   */
  keepOnly(payload: object): Promise<void>;
}

/** A processor throws this error if other jobs must come first. The job goes back to the queue for `waitMs`; this does not count as an attempt. */
export class NotItsTurnError extends TransientError {
  override readonly name = 'NotItsTurnError';
  readonly waitMs: number;

  constructor(waitMs: number) {
    super(`the job has to wait ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

/** A job that makes stamps, from either queue. */
export const isStampJob = (job: FailedJob): job is Extract<FailedJob, { name: 'stamp' | 'promised-stamp' }> =>
  job.name === 'stamp' || job.name === 'promised-stamp';

/** One processor for each kind of job. A missing processor is a compile error. */
export type JobProcessors = { readonly [Name in JobName]: (payload: JobPayload<Name>, run: JobRun) => Promise<void> };
