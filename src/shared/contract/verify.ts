import { z } from 'zod';
import { dateTime, sha256Hex, text, uuid } from './fields.ts';
import { pathUuid } from './parameters.ts';

const token = text().meta({ description: 'the opaque token that a stamp operation returned' });

/** Body of the verify operations. */
export const verifyRequest = z.object({ token }).meta({ id: 'VerifyRequest' });
export type VerifyRequest = z.output<typeof verifyRequest>;

/** Body of raw verification: a `hash` beside the token must match the token's message imprint (RFC 3161 §2.4.2). */
export const rawVerifyRequest = z
  .object({ token, hash: sha256Hex.nullish().describe('when given, it must be the hash that the token holds') })
  .meta({ id: 'RawVerifyRequest' });
export type RawVerifyRequest = z.output<typeof rawVerifyRequest>;

/** Path of verification by id. */
export const tokenPath = z.object({ token_id: pathUuid });

export const verificationResult = z
  .object({
    valid: z.boolean(),
    token_id: uuid.nullable(),
    issued_at: dateTime.nullable(),
    content_sha256: z.string().nullable(),
    tsp_provider: z.string().nullable(),
    is_qualified: z.boolean().nullable(),
    reason: z.string().nullable().describe('a stable code, a colon, one sentence; null when valid'),
  })
  .meta({ id: 'VerificationResult' });
export type VerificationResult = z.output<typeof verificationResult>;
