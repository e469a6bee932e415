import { z } from 'zod';
import { type Qualification, qualificationBases, qualificationReasons } from '../domain/qualification.ts';
import { TransientError } from '../domain/service-error.ts';
import { type Caller, callerKinds, imprintAlgorithms, REQUEST_FAULTS, type Stamp, stampTiers } from '../domain/stamp.ts';

/** The queue of the stamps that callers wait for, and of all outputs: they keep their order, so they never change queue (W8). */
export const stampQueueName = 'stamps' as const;

/** The queue of the stamps that nobody waits for: promised ones, and those that are owed after a 504. */
export const promisedQueueName = 'promised-stamps' as const;

/** The queues that keep jobs that were given up. `maintenance` does not keep them, because its next run does the same work. */
export const keptQueues = ['stamps', 'promised-stamps', 'emails', 'workflows', 'webhooks', 'renewals'] as const;
export type QueueName = (typeof keptQueues)[number] | 'maintenance';

/** The form of all payloads (E17). The number grows with a form that an earlier worker would misread. */
const jobForm = 1;

/** Returns the payload as it is stored: with the number of its form. */
export const inJobForm = <Payload>(payload: Payload): Payload => ({ form: jobForm, ...payload });

/** Whether only a newer worker can read this stored payload. */
export const isOfNewerForm = (stored: unknown): boolean => Number((stored as { form?: unknown } | null)?.form) > jobForm;

const callerSchema = z.object({ kind: z.enum(callerKinds), product: z.string().optional() }) satisfies z.ZodType<Caller>;

const imprintSchema = z.object({ algorithm: z.enum(imprintAlgorithms), digest: z.string() });

/**
 * The parts of a client's TimeStampReq except the imprint. The request to the TSA repeats them, so that the TSA's token answers the client's
 * request. Without a client's request, the service uses its own nonce and the provider's policy.
 */
const timeStampReqFields = z.object({
  /** Decimal. Absent: the request has no nonce. */
  nonce: z
    .string()
    .regex(/^-?\d{1,155}$/)
    .optional(),
  /** Dotted OID. Absent: the client accepts any policy. */
  policy: z.string().optional(),
  /** Whether the AlgorithmIdentifier of the imprint has NULL parameters. */
  hasNullParameters: z.boolean().optional(),
  /** Whether the client gets the token without its certificates. The service still requests them from the TSA. */
  omitsCertificates: z.boolean().optional(),
});
export type TimeStampReqFields = z.infer<typeof timeStampReqFields>;

/** The stored reference to sealed content: its id, and a hash of the secret that decrypts it. */
const sealedRefSchema = z.object({ contentId: z.string(), secretSha256: z.string(), bytes: z.number().int() });

/** The workflow output that a stamp belongs to. It is appended to the workflow's chain once the stamp exists. */
const outputRefSchema = z.object({
  workflowId: z.uuid(),
  briefingHash: z.string().length(64),
  outputId: z.uuid(),
  type: z.string(),
  /** Encrypted with the workflow's key. */
  metadata: z.string().optional(),
});
export type OutputRef = z.infer<typeof outputRefSchema>;

/** An accepted stamp that a worker has to make. It contains ids and hashes, but never content. */
const stampItemSchema = z.object({
  tokenId: z.uuid(),
  imprint: imprintSchema,
  tier: z.enum(stampTiers),
  caller: callerSchema,
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** Encrypted with a key of this stamp. */
  metadata: z.string().optional(),
  paymentClaim: z.string().optional(),
  sealed: sealedRefSchema.optional(),
  /** Whether only a qualified provider may make the stamp. */
  requiresQualified: z.boolean().optional(),
  output: outputRefSchema.optional(),
  asked: timeStampReqFields.optional(),
  /** Whether the service has promised the stamp, and the caller does not wait for it. */
  isPromised: z.boolean().optional(),
  /** The data of the webhook (`callbackSchema`), encrypted with a key of this stamp. */
  callback: z.string().optional(),
});
export type StampItem = z.infer<typeof stampItemSchema>;

/** Whether the stamp belongs into the queue of those that nobody waits for. Outputs never change their queue (W8). */
export const isForPromisedQueue = ({ isPromised = false, output }: StampItem): boolean => isPromised && output === undefined;

/** The maximum number of stamps in one job. */
export const maxItemsPerJob = 64;

/** A job of a stamp queue: the stamps that one API process sends together, and the stream for the replies. */
const stampJobSchema = z.object({
  replyTo: z.string(),
  /** Whether the job may have been sent before. Then its results may already exist. */
  isRepeated: z.boolean().optional(),
  items: z.array(stampItemSchema).min(1),
});
export type StampJob = z.output<typeof stampJobSchema>;

/** The fields of a reply about an existing stamp. */
export const stampedReplyFields = {
  tokenId: z.string(),
  issuedAt: z.string(),
  provider: z.string(),
  isQualified: z.boolean(),
  /** Who says that it is qualified or not, and why not. Absent if an earlier run of the job stored the stamp, because this is not stored. */
  qualification: z.object({ basis: z.enum(qualificationBases).nullable(), reason: z.enum(qualificationReasons).nullable() }).optional(),
  /** Only for an output of a workflow: its id, and its link in the workflow's chain. */
  output: z.object({ outputId: z.string(), sequenceNumber: z.number().int(), chainHash: z.string() }).optional(),
};

/**
 * The outcome of one item. `stamped`: the stamp is stored, even if another run of the job stored it. `tier_unavailable`: no
 * provider makes qualified stamps now. `workflow_closed`: the output came after its workflow was closed, and is not part of the workflow (W4).
 * `time_unavailable`: the clock of the signing key is not confirmed. `request_refused`: no provider accepts the client's TimeStampReq; `fault` is
 * the reason, if a provider gave one. `stamp_failed`: the service itself cannot make the stamp, and an operator has to check why.
 */
export const stampReplySchema = z.discriminatedUnion('outcome', [
  z.object({ ...stampedReplyFields, outcome: z.literal('stamped'), /** Base64. */ token: z.string() }),
  z.object({
    outcome: z.literal('failed'),
    tokenId: z.string(),
    code: z.enum(['provider_failed', 'time_unavailable', 'tier_unavailable', 'workflow_closed', 'request_refused', 'stamp_failed']),
    /** Only for `request_refused`: the reason of the providers. */
    fault: z.enum(REQUEST_FAULTS).optional(),
  }),
]);
export type StampReply = z.infer<typeof stampReplySchema>;
export type StampedReply = Extract<StampReply, { outcome: 'stamped' }>;
export type OutputPlace = NonNullable<StampedReply['output']>;

/** Makes the reply about an existing stamp, in a worker or later from the store. */
export function stampedReplyOf({ tokenId, proofs: [proof] }: Stamp): StampedReply {
  const { issuedAt, token, provider, isQualified } = proof;
  return { outcome: 'stamped', tokenId, issuedAt, token, provider, isQualified, ...repliedQualificationOf(proof) };
}

/** A reply has only what the answer to the caller needs. */
export const repliedQualificationOf = ({ qualification }: { readonly qualification?: Qualification | undefined }) =>
  qualification && { qualification: { basis: qualification.basis, reason: qualification.reason } };

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
export const queueConcurrency: Readonly<Record<string, number>> = {
  emails: 8,
  workflows: 8,
  renewals: 1,
  webhooks: 128,
} satisfies Partial<Record<QueueName, number>>;

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
