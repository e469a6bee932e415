import { z } from 'zod';
import { digestCharacters } from '../domain/stamp.ts';
import { dateTime, text, uuid } from './fields.ts';
import { anyUuid } from './parameters.ts';
import { imprintShown } from './stamp.ts';

const token = text().meta({ description: 'the opaque token that a stamp operation returned' });

/** Body of the verify operations. */
export const verifyRequest = z.object({ token }).meta({ id: 'VerifyRequest' });
export type VerifyRequest = z.output<typeof verifyRequest>;

const lengths = Object.values(digestCharacters);
const oneDigest = lengths.map((length) => `[0-9a-f]{${length}}`).join('|');

/** SHA-256, SHA-384 or SHA-512 (V7). */
const digestHex = text({ min: Math.min(...lengths), max: Math.max(...lengths), pattern: `^(${oneDigest})$` }).meta({
  description: 'SHA-256, SHA-384 or SHA-512 as 64, 96 or 128 lower-case hexadecimal characters',
});

/** Body of raw verification: a `hash` beside the token must match the token's message imprint (RFC 3161 §2.4.2). */
export const rawVerifyRequest = z
  .object({
    token,
    hash: digestHex.nullish().describe('when given, it must be the digest that the token holds, in the algorithm of the token'),
    hashes: z
      .array(digestHex)
      .max(lengths.length)
      .nullish()
      .describe('the file’s hashes in more algorithms: needed of an evidence record that was renewed by another one than it began with'),
  })
  .meta({ id: 'RawVerifyRequest' });
export type RawVerifyRequest = z.output<typeof rawVerifyRequest>;

const withoutSpace = z.string().transform((pasted) => pasted.replace(/\s/g, ''));

/** The form of the page: what people paste has line ends, and hashes in upper case. */
export const verifyForm = z.object({ token: withoutSpace, hash: withoutSpace.transform((hash) => hash.toLowerCase()).default('') });

/** Path of verification by id. */
export const tokenIdPath = z.object({ token_id: anyUuid });

/** Path of the content of a sealed stamp (S11). */
export const sealedContentPath = tokenIdPath.extend({ secret: z.string() });

export const verificationResult = z
  .object({
    valid: z.boolean(),
    token_id: uuid.nullable(),
    issued_at: dateTime.nullable(),
    content_sha256: z.string().nullable().describe('null where the imprint is no SHA-256'),
    imprint: imprintShown.nullable().describe('what the token vouches for; null where it vouches for nothing'),
    tsp_provider: z.string().nullable(),
    is_qualified: z.boolean().nullable(),
    holds_until: dateTime
      .optional()
      .describe(
        'only of an evidence record that is valid: when the certificates of its last token end. The service renews its own records before',
      ),
    reason: z.string().nullable().describe('a stable code, a colon, one sentence; null when valid'),
    advice: z.string().optional().describe('one sentence: what can be done about the reason; only where there is something'),
  })
  .meta({ id: 'VerificationResult' });
export type VerificationResult = z.output<typeof verificationResult>;

/** A body that is a content, byte for byte. */
export const contentBytes = z
  .string()
  .meta({ id: 'Content', format: 'binary', description: 'the content that was stamped, byte for byte' });

export const evidenceRenewal = z
  .object({
    token_id: uuid,
    imprint: imprintShown.describe('the content’s hash of the new algorithm'),
    is_renewed: z
      .boolean()
      .describe('whether the evidence record covers that hash already; if not, the next daily run of renewals sees to it'),
  })
  .meta({ id: 'EvidenceRenewal' });
export type EvidenceRenewal = z.output<typeof evidenceRenewal>;
