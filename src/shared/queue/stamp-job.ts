import { z } from 'zod';
import { type Caller, callerKinds } from '../domain/caller.ts';
import { type Qualification, qualificationBases, qualificationReasons } from '../domain/qualification.ts';
import { REQUEST_FAULTS } from '../domain/request-fault.ts';
import { imprintAlgorithms, type Stamp } from '../domain/stamp.ts';
import { stampTiers } from '../domain/tiers.ts';

const callerSchema = z.object({ kind: z.enum(callerKinds), product: z.string().optional() }) satisfies z.ZodType<Caller>;

const imprintSchema = z.object({ algorithm: z.enum(imprintAlgorithms), digest: z.string() });

/**
 * The parts of a client's TimeStampReq except the imprint. The request to the TSA repeats them, so that the TSA's token answers the client's
 * request. Without a client's request, the service uses its own nonce and the provider's policy.
 */
const askedSchema = z.object({
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
export type Asked = z.infer<typeof askedSchema>;

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
  asked: askedSchema.optional(),
  /** Whether the service has promised the stamp, and the caller does not wait for it. */
  isPromised: z.boolean().optional(),
  /** The data of the webhook (`callbackSchema`), encrypted with a key of this stamp. */
  callback: z.string().optional(),
});
export type StampItem = z.infer<typeof stampItemSchema>;

/** The maximum number of stamps in one job. */
export const maxItemsPerJob = 64;

/** A job of a stamp queue: the stamps that one API process sends together, and the stream for the replies. */
export const stampJobSchema = z.object({
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
  /** Only for an output of a workflow: its id, and its position in the workflow's chain. */
  output: z.object({ outputId: z.string(), sequenceNumber: z.number().int() }).optional(),
};

/**
 * The outcome of one item. `stamped`: the stamp is stored, even if another run of the job stored it. `tier_unavailable`: no configured provider may
 * make the stamp, so none was asked. `workflow_closed`: the output came after its workflow was closed, and is not part of the workflow (W4).
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

/** Makes the reply about an existing stamp, in a worker or later from the store. */
export function stampedReplyOf({ tokenId, proofs: [proof] }: Stamp): StampedReply {
  const { issuedAt, token, provider, isQualified } = proof;
  return { outcome: 'stamped', tokenId, issuedAt, token, provider, isQualified, ...repliedQualificationOf(proof) };
}

/** A reply has only what the answer to the caller needs. */
export const repliedQualificationOf = ({ qualification }: { readonly qualification?: Qualification | undefined }) =>
  qualification && { qualification: { basis: qualification.basis, reason: qualification.reason } };

/** The queue of the stamps that callers wait for, and of all outputs: they keep their order, so they never change queue (W8). */
export const stampQueueName = 'stamps' as const;

/** The queue of the stamps that nobody waits for: promised ones, and those that are owed after a 504. */
export const promisedQueueName = 'promised-stamps' as const;
