import { z } from 'zod';
import { TransientError } from '../domain/service-error.ts';
import type { QueueName } from './open-queue.ts';
import { stampJobSchema, stampQueueName } from './stamp-job.ts';

/** Payload of the job that mails a challenge. The challenge is derived from its id, and from a key that is not in Redis (W6). */
const otpMailSchema = z.object({
  workflowId: z.uuid(),
  challengeId: z.uuid(),
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** Where the service is reached, as the API knows it: links in mails are absolute (W13). */
  baseUrl: z.string(),
});

/** Payload of the job that closes a workflow. `acceptedAt` decides whether that was in time (W5). */
const workflowCompletionSchema = z.object({ workflowId: z.uuid(), acceptedAt: z.number().int(), requestId: z.string() });

const webhookBase = {
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** When it was sent for the first time, and not taken. */
  firstTriedAt: z.number().int().optional(),
};

/** Payload of the job that sends a webhook (N3). Of a stamp: where to, and for which product, encrypted under its key; of a workflow that is in its record. */
const webhookSchema = z.discriminatedUnion('event', [
  z.object({ ...webhookBase, event: z.enum(['stamp.made', 'output.made']), tokenId: z.uuid(), callback: z.string() }),
  z.object({ ...webhookBase, event: z.enum(['workflow.confirmed', 'workflow.completed']), workflowId: z.uuid() }),
]);

/** Every kind of job: the queue that it travels in and the contract of its payload. Ids and hashes only (rule 6). */
export const jobContracts = {
  stamp: { queue: stampQueueName, payload: stampJobSchema },
  sweep: { queue: 'maintenance', payload: z.object({}) },
  recount: { queue: 'maintenance', payload: z.object({}) },
  'qstamp-renew': { queue: 'renewals', payload: z.object({}) },
  'otp-mail': { queue: 'emails', payload: otpMailSchema },
  'workflow-completion': { queue: 'workflows', payload: workflowCompletionSchema },
  webhook: { queue: 'webhooks', payload: webhookSchema },
} as const satisfies Record<string, { queue: QueueName; payload: z.ZodType }>;

/**
 * How many jobs of these queues a worker runs at a time, where that is fewer than of stamps: mail servers must not be flooded, a root takes much
 * computing, and two renewals at once would ask twice for the same. Webhooks mostly wait for strangers.
 */
export const queueConcurrency: Readonly<Record<string, number>> = { emails: 8, workflows: 8, renewals: 1, webhooks: 128 };

/** How many jobs of a queue run at a time in a worker that runs `concurrency` jobs of stamps. */
export const placesOf = (queue: QueueName, concurrency: number) => Math.min(concurrency, queueConcurrency[queue] ?? concurrency);

export type JobName = keyof typeof jobContracts;
export type JobPayload<Name extends JobName> = z.output<(typeof jobContracts)[Name]['payload']>;

/** A job that was given up. */
export type FailedJob = {
  readonly [Name in JobName]: { readonly name: Name; readonly id: string; readonly payload: JobPayload<Name> };
}[JobName];

/** The job as its contract knows it; undefined where it is of another version of the service. */
export function failedJobOf({ name, id = '', data }: { name: string; id?: string | undefined; data: unknown }): FailedJob | undefined {
  if (!Object.hasOwn(jobContracts, name)) return undefined;
  const payload = jobContracts[name as JobName].payload.safeParse(data);
  return payload.success ? ({ name, id, payload: payload.data } as FailedJob) : undefined;
}

/** What a processor is told beside the payload. */
export interface JobRun {
  readonly jobId: string;
  /** Whether the job was started before: what it makes may be there already. */
  readonly isRetry: boolean;
  /**
   * Whether the job is still this worker's: a worker loses its jobs when it, or Redis, stands still for longer than a lock lasts, and another
   * run does them. @throws where Redis is away
   */
  isOurs(): Promise<boolean>;
  /** Replaces the payload by what is left of it, for the next attempt; then the processor throws. @throws where the job is not this worker's any more, or Redis is away */
  keepOnly(payload: object): Promise<void>;
}

/** Thrown by a processor whose job cannot be done before others: it waits so long outside the worker, and that counts as no attempt. */
export class NotItsTurnError extends TransientError {
  override readonly name = 'NotItsTurnError';
  readonly waitMs: number;

  constructor(waitMs: number) {
    super(`the job is to wait ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

/** One entry for each kind of job; the type makes a missing one a compile error. */
export type JobProcessors = { readonly [Name in JobName]: (payload: JobPayload<Name>, run: JobRun) => Promise<void> };
