import { z } from 'zod';
import { TransientError } from '../domain/service-error.ts';
import type { QueueName } from './open-queue.ts';
import { stampJobSchema, stampQueueName } from './stamp-job.ts';

/** Payload of the job that mails a challenge. The challenge is derived from its id and a key that is not in Redis (W6). */
const otpMailSchema = z.object({
  workflowId: z.uuid(),
  challengeId: z.uuid(),
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** The public address of the service, known to the API: links in mails are absolute. */
  baseUrl: z.string(),
});

/** Payload of the job that closes a workflow. `acceptedAt` decides whether the request was in time. */
const workflowCompletionSchema = z.object({ workflowId: z.uuid(), acceptedAt: z.number().int(), requestId: z.string() });

const webhookBase = {
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** When the mail was first sent and not accepted. */
  firstTriedAt: z.number().int().optional(),
};

/**
 * Payload of the job that sends a webhook. For a stamp it has the address and the product, encrypted under the stamp's key; for a workflow the
 * record has them.
 */
const webhookSchema = z.discriminatedUnion('event', [
  z.object({ ...webhookBase, event: z.enum(['stamp.made', 'output.made']), tokenId: z.uuid(), callback: z.string() }),
  z.object({ ...webhookBase, event: z.enum(['workflow.confirmed', 'workflow.completed']), workflowId: z.uuid() }),
]);

/** Every kind of job with its queue and the contract of its payload. Payloads contain only ids and hashes (architecture rule 6). */
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
 * The maximum number of these jobs that run at a time in one worker, if it differs from stamp jobs: mail servers must not be flooded, a root needs
 * much computing, and two renewals at once would request the same token twice. Webhooks mostly wait for other servers.
 */
export const queueConcurrency: Readonly<Record<string, number>> = { emails: 8, workflows: 8, renewals: 1, webhooks: 128 };

/** The maximum number of jobs of a queue that run at a time in a worker with `concurrency` stamp jobs. */
export const placesOf = (queue: QueueName, concurrency: number) => Math.min(concurrency, queueConcurrency[queue] ?? concurrency);

export type JobName = keyof typeof jobContracts;
export type JobPayload<Name extends JobName> = z.output<(typeof jobContracts)[Name]['payload']>;

/** A job that was given up. */
export type FailedJob = {
  readonly [Name in JobName]: { readonly name: Name; readonly id: string; readonly payload: JobPayload<Name> };
}[JobName];

/** The job in the form of its contract; undefined if another version of the service wrote it. */
export function failedJobOf({ name, id = '', data }: { name: string; id?: string | undefined; data: unknown }): FailedJob | undefined {
  if (!Object.hasOwn(jobContracts, name)) return undefined;
  const payload = jobContracts[name as JobName].payload.safeParse(data);
  return payload.success ? ({ name, id, payload: payload.data } as FailedJob) : undefined;
}

/** What a processor gets beside the payload. */
export interface JobRun {
  readonly jobId: string;
  /** Whether the job was started before: its results may already exist. */
  readonly isRetry: boolean;
  /**
   * Whether this worker still owns the job. It loses its jobs if it or Redis hangs for longer than a lock lasts; then another run does them.
   * @throws if Redis is down
   */
  isOurs(): Promise<boolean>;
  /**
   * Replaces the payload with the remaining part for the next attempt; then the processor throws. @throws if this worker does not own the job any
   * more, or Redis is down
   */
  keepOnly(payload: object): Promise<void>;
}

/** Thrown by a processor if other jobs must come first. The job waits outside the worker; this does not count as an attempt. */
export class NotItsTurnError extends TransientError {
  override readonly name = 'NotItsTurnError';
  readonly waitMs: number;

  constructor(waitMs: number) {
    super(`the job has to wait ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

/** One entry for each kind of job; a missing one is a compile error. */
export type JobProcessors = { readonly [Name in JobName]: (payload: JobPayload<Name>, run: JobRun) => Promise<void> };
