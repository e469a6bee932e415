import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type StampTier, stampTiers } from '../domain/tiers.ts';
import { dateTime, issueOf, metadata, type PydanticIssue, sha256Hex, text, uuid, valueError } from './fields.ts';

export const stampTier = z.enum(stampTiers);

/**
 * The content of canonical base64 (RFC 4648 §4: standard alphabet, padding, zero pad bits, no white space); undefined when it
 * is not (S2). Compared by encoding again: a pattern over 14 million characters overflows the engine.
 */
function decodeCanonicalBase64(encoded: string): Buffer | undefined {
  if (encoded.length % 4 !== 0) return undefined;
  const decoded = Buffer.from(encoded, 'base64');
  return decoded.toString('base64') === encoded ? decoded : undefined;
}

const stampFields = z.object({
  hash: sha256Hex.nullish(),
  content_b64: z.string().nullish().describe('canonical base64 of the content; only in tier sealed'),
  tier: stampTier.default('basic'),
  metadata: metadata(z.string()).nullish().describe('stored, never signed'),
});

/** A stamp request that keeps every rule: what to stamp, and the content where it is sealed. */
export interface StampOrder {
  readonly hash: string;
  readonly content: Buffer | undefined;
  readonly tier: StampTier;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

type Judged = { readonly order: StampOrder } | { readonly issue: PydanticIssue; readonly path: string[] };

function judge(fields: z.output<typeof stampFields>, pathTier: StampTier | undefined): Judged {
  const tier = pathTier ?? fields.tier;
  const { hash, content_b64: encoded } = fields;
  const order = { tier, metadata: fields.metadata ?? undefined };
  const refuse = (sentence: string, path: string[] = []): Judged => ({ issue: valueError(sentence), path });

  if (typeof encoded !== 'string') {
    return typeof hash === 'string'
      ? { order: { ...order, hash, content: undefined } }
      : refuse('either hash or content_b64 must be given');
  }
  if (tier !== 'sealed') return refuse('content_b64 is only allowed in tier sealed');
  const content = decodeCanonicalBase64(encoded);
  if (!content) return refuse('content_b64 must be canonical base64: standard alphabet, padded, no white space', ['content_b64']);
  const contentHash = createHash('sha256').update(content).digest('hex');
  if (typeof hash === 'string' && hash !== contentHash) return refuse('hash is not the SHA-256 of content_b64');
  return { order: { ...order, hash: contentHash, content } };
}

/** The body of a stamp operation; on agent paths the tier of the path decides, whatever the body says (S1, S2, S5). */
export function stampRequest(pathTier?: StampTier) {
  return stampFields.transform((fields, context): StampOrder => {
    const judged = judge(fields, pathTier);
    if ('order' in judged) return judged.order;
    context.addIssue(issueOf(judged.issue, judged.path));
    return z.NEVER;
  });
}

/** Headers of the agent operations: an unverified claim of the caller (S10). */
export const agentHeaders = z.object({
  'x-payment-transaction': text({ max: 256, pattern: '^[\\x20-\\x7e]*$' }).optional(),
});

export const stampToken = z
  .object({
    token_id: uuid,
    issued_at: dateTime,
    content_sha256: sha256Hex,
    token: z.string().describe('opaque token body; base64 of the RFC 3161 TimeStampToken with real providers'),
    tier: stampTier,
    tsp_provider: z.string(),
    is_qualified: z.boolean(),
    verify_url: z.string(),
    sealed_storage_url: z.string().nullable(),
  })
  .meta({ id: 'StampToken' });
export type StampToken = z.output<typeof stampToken>;

export const stampListItem = z
  .object({ token_id: uuid, issued_at: dateTime, tier: stampTier, content_sha256: sha256Hex, is_qualified: z.boolean() })
  .meta({ id: 'StampListItem' });

export const stampListResponse = z.object({ items: z.array(stampListItem), total: z.int() }).meta({ id: 'StampListResponse' });
export type StampListResponse = z.output<typeof stampListResponse>;
