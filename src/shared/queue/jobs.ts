import { z } from 'zod';
import { stampJobSchema } from './sent-job.ts';
import { stampQueueName } from './stamp-job.ts';

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

/** Payload of the job that sends a webhook (N3). Of a stamp: where to, encrypted under its key; of a workflow that is in its record. */
const webhookSchema = z.discriminatedUnion('event', [
  z.object({ ...webhookBase, event: z.enum(['stamp.made', 'output.made']), tokenId: z.uuid(), callback: z.string() }),
  z.object({ ...webhookBase, event: z.enum(['workflow.confirmed', 'workflow.completed']), workflowId: z.uuid() }),
]);

/** Every kind of job: the queue that it travels in and the contract of its payload. Ids and hashes only (rule 6). */
export const jobContracts = {
  stamp: { queue: stampQueueName, payload: stampJobSchema },
  sweep: { queue: 'maintenance', payload: z.object({}) },
  'counter-fold': { queue: 'maintenance', payload: z.object({}) },
  'qstamp-renew': { queue: 'renewals', payload: z.object({}) },
  'otp-mail': { queue: 'emails', payload: otpMailSchema },
  'workflow-completion': { queue: 'workflows', payload: workflowCompletionSchema },
  webhook: { queue: 'webhooks', payload: webhookSchema },
} as const satisfies Record<string, { queue: string; payload: z.ZodType }>;

/**
 * How many jobs of these queues a worker runs at a time, where that is fewer than of stamps: mail servers must not be flooded, a root takes much
 * computing, and two renewals at once would ask twice for the same. Webhooks mostly wait for strangers.
 */
export const queueConcurrency: Readonly<Record<string, number>> = { emails: 8, workflows: 8, renewals: 1, webhooks: 128 };

export type JobName = keyof typeof jobContracts;
export type JobPayload<Name extends JobName> = z.output<(typeof jobContracts)[Name]['payload']>;

/** What a processor is told beside the payload. */
export interface JobRun {
  readonly jobId: string;
  /** Which run of the job this is, from 1. */
  readonly run: number;
  /** Whether the job was started before: what it makes may be there already. */
  readonly isRetry: boolean;
  /** The same in all runs of the job, and another one when a job of that id is sent once more after it was done. */
  readonly life: string;
  /**
   * Whether the job is still this worker's: a worker loses its jobs when it, or Redis, stands still for longer than a lock lasts. Redis is asked
   * only where the last look is some time ago. Once the job is lost, another run has done it or will. @throws where Redis is away
   */
  isOurs(): Promise<boolean>;
  /** Replaces the payload, should there be a next run. @throws where the job is not this worker's any more, or Redis is away */
  note(payload: object): Promise<void>;
  /** Replaces the payload by what is left of it, for the next attempt; then the processor throws. @throws as `note` */
  keepOnly(payload: object): Promise<void>;
  /** The run does not end before this has, not even by an error: the next run would not find what this one still writes. It fails where this does. */
  endsAfter(writing: Promise<unknown>): void;
  /** `ended` is told when the job is surely done as far as this run got, or that it failed and is done again. */
  onEnd(ended: (isDone: boolean) => void): void;
}

/** Thrown by a processor whose job cannot be done before others: it waits so long outside the worker, and that counts as no attempt. */
export class NotItsTurnError extends Error {
  override readonly name = 'NotItsTurnError';
  readonly waitMs: number;

  constructor(waitMs: number) {
    super(`the job is to wait ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

/** One entry for each kind of job; the type makes a missing one a compile error. */
export type JobProcessors = { readonly [Name in JobName]: (payload: JobPayload<Name>, run: JobRun) => Promise<void> };
