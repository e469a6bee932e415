import { z } from 'zod';
import { type Caller, callerKinds } from '../domain/caller.ts';
import { REQUEST_FAULTS } from '../domain/request-fault.ts';
import { imprintAlgorithms, type Stamp } from '../domain/stamp.ts';
import { stampTiers } from '../domain/tiers.ts';
import { inPresentForm } from './older-jobs.ts';

const callerSchema = z.object({ kind: z.enum(callerKinds), product: z.string().optional() }) satisfies z.ZodType<Caller>;

const imprintSchema = z.object({ algorithm: z.enum(imprintAlgorithms), digest: z.string() });

/**
 * What the TimeStampReq of a client asks for beside its imprint (T2): the TSA is asked in the same words, so that its token is the answer to
 * that request. Without it the request is ours: a nonce of our own, and the provider's policy.
 */
const askedSchema = z.object({
  /** Decimal; absent: none. */
  nonce: z
    .string()
    .regex(/^-?\d{1,155}$/)
    .optional(),
  /** Dotted OID; absent: any. */
  policy: z.string().optional(),
  /** Whether the AlgorithmIdentifier of the imprint has NULL parameters. */
  hasNullParameters: z.boolean().optional(),
  /** Whether the client gets the token without its certificates. The TSA is asked for them all the same. */
  omitsCertificates: z.boolean().optional(),
});
export type Asked = z.infer<typeof askedSchema>;

/** What is stored of a sealed stamp's content: where it lies, and a hash of the secret that opens it (S11). */
const sealedRefSchema = z.object({ contentId: z.string(), secretSha256: z.string(), bytes: z.number().int() });

/** The output of a workflow that a stamp is for: it is appended to the workflow's chain once the stamp exists (W8). */
const outputRefSchema = z.object({
  workflowId: z.uuid(),
  briefingHash: z.string().length(64),
  outputId: z.uuid(),
  type: z.string(),
  /** Encrypted under the workflow's key (W10). Items that version 0.2.0 accepted have JSON. */
  metadata: z.string().optional(),
});
export type OutputRef = z.infer<typeof outputRefSchema>;

/** One accepted stamp on its way to a worker: ids and hashes, never content (S11). */
const stampItemSchema = z.object({
  tokenId: z.uuid(),
  imprint: imprintSchema,
  tier: z.enum(stampTiers),
  caller: callerSchema,
  acceptedAt: z.number().int(),
  requestId: z.string(),
  /** Encrypted under a key of this stamp. */
  metadata: z.string().optional(),
  paymentClaim: z.string().optional(),
  sealed: sealedRefSchema.optional(),
  /** Only a qualified provider may make it (W2). */
  requiresQualified: z.boolean().optional(),
  output: outputRefSchema.optional(),
  asked: askedSchema.optional(),
  /** Its caller was promised the stamp and waits for nothing (N1). */
  isPromised: z.boolean().optional(),
  /** Where a webhook tells of it (N2), encrypted under a key of this stamp. */
  callback: z.string().optional(),
});
export type StampItem = z.infer<typeof stampItemSchema>;

/** The most stamps that travel in one job. */
export const maxItemsPerJob = 64;

/** A job of the `stamps` queue: a micro-batch of one API process, and the stream that it reads replies from. */
export const stampJobSchema = z.preprocess(
  inPresentForm,
  z.object({
    replyTo: z.string(),
    /** It may have been sent before: what it is to make may be there already. */
    isRepeated: z.boolean().optional(),
    items: z.array(stampItemSchema).min(1),
  }),
);
export type StampJob = z.output<typeof stampJobSchema>;

/** What is told of every stamp that exists. */
export const stampedReplyFields = {
  tokenId: z.string(),
  issuedAt: z.string(),
  provider: z.string(),
  isQualified: z.boolean(),
  /** The place of a workflow's output in its chain. */
  output: z.object({ outputId: z.string(), sequenceNumber: z.number().int() }).optional(),
};

/**
 * The outcome of one item. `stamped`: what is stored, also when another run of the job wrote it. `tier_unavailable`: no configured
 * provider may make it, so none was asked (W19). `workflow_closed`: the output came after its workflow was closed, and is not part of it
 * (W4). `time_unavailable`: nobody confirms the clock that it would be stamped by. `request_refused`: no provider takes what the client's TimeStampReq asks for, and `fault` is what they find wrong with it, where they say so (T2).
 * `stamp_failed`: the service itself cannot make it, and an operator has to look at it.
 */
export const stampReplySchema = z.discriminatedUnion('outcome', [
  z.object({ ...stampedReplyFields, outcome: z.literal('stamped'), /** Base64. */ token: z.string() }),
  z.object({
    outcome: z.literal('failed'),
    tokenId: z.string(),
    code: z.enum(['provider_failed', 'time_unavailable', 'tier_unavailable', 'workflow_closed', 'request_refused', 'stamp_failed']),
    /** Of `request_refused`. */
    fault: z.enum(REQUEST_FAULTS).optional(),
  }),
]);
export type StampReply = z.infer<typeof stampReplySchema>;
export type StampedReply = Extract<StampReply, { outcome: 'stamped' }>;

/** What a worker answers, or the store says later, of a stamp that exists. */
export function stampedReplyOf({ tokenId, proofs: [{ issuedAt, token, provider, isQualified }] }: Stamp): StampedReply {
  return { outcome: 'stamped', tokenId, issuedAt, token, provider, isQualified };
}

export const stampQueueName = 'stamps' as const;
