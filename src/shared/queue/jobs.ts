import { z } from 'zod';
import { stampJobSchema, stampQueueName } from './stamp-job.ts';

/** Every kind of job: the queue that it travels in and the contract of its payload. Ids and hashes only (rule 6). */
export const jobContracts = {
  stamp: { queue: stampQueueName, payload: stampJobSchema },
  sweep: { queue: 'maintenance', payload: z.object({}) },
} as const satisfies Record<string, { queue: string; payload: z.ZodType }>;

export type JobName = keyof typeof jobContracts;
export type JobPayload<Name extends JobName> = z.output<(typeof jobContracts)[Name]['payload']>;

/** What a processor is told beside the payload. */
export interface JobRun {
  /** Whether the job was started before: what it makes may be there already. */
  readonly isRetry: boolean;
}

/** One entry for each kind of job; the type makes a missing one a compile error. */
export type JobProcessors = { readonly [Name in JobName]: (payload: JobPayload<Name>, run: JobRun) => Promise<void> };
