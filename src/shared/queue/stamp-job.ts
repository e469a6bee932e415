import { z } from 'zod';

/** Who asked for a stamp; counted by kind, listed by product (S12). */
export const callerSchema = z.object({
  kind: z.enum(['internal', 'agent', 'workflow', 'mcp']),
  product: z.string().optional(),
});
export type Caller = z.infer<typeof callerSchema>;

const sealedRefSchema = z.object({ contentId: z.string(), secretSha256: z.string(), bytes: z.number().int() });

/** One accepted stamp on its way to a worker: ids and hashes, never content (S11). */
export const stampItemSchema = z.object({
  tokenId: z.uuid(),
  hash: z.string().length(64),
  tier: z.enum(['basic', 'plus', 'sealed']),
  caller: callerSchema,
  acceptedAt: z.number().int(),
  requestId: z.string(),
  metadata: z.record(z.string(), z.string()).optional(),
  paymentClaim: z.string().optional(),
  sealed: sealedRefSchema.optional(),
});
export type StampItem = z.infer<typeof stampItemSchema>;

/** The most stamps that travel in one job. */
export const maxItemsPerJob = 64;

/** Payload of a job in the `stamps` queue: a micro-batch of one API process, and the stream that it reads replies from. */
export const stampJobSchema = z.object({
  replyTo: z.string(),
  items: z.array(stampItemSchema).min(1).max(maxItemsPerJob),
});
export type StampJob = z.infer<typeof stampJobSchema>;

/** What became of one item. `stamped` carries what is stored, whoever wrote it first. */
export const stampReplySchema = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('stamped'),
    tokenId: z.string(),
    issuedAt: z.string(),
    token: z.string(),
    provider: z.string(),
    isQualified: z.boolean(),
  }),
  z.object({ outcome: z.literal('failed'), tokenId: z.string(), code: z.literal('provider_failed') }),
]);
export type StampReply = z.infer<typeof stampReplySchema>;

export const stampRepliesSchema = z.array(stampReplySchema);

export const stampQueueName = 'stamps';
