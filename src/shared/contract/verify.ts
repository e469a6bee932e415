import { z } from 'zod';
import { verdicts } from '../domain/reasons.ts';
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
const digestHex = text({ min: Math.min(...lengths), max: Math.max(...lengths), pattern: `^(${oneDigest})$`, lowersHex: true }).meta({
  description: 'SHA-256, SHA-384 or SHA-512 as 64, 96 or 128 hexadecimal characters in either case',
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

const certificate = z.object({
  subject: z.string().describe('RFC 4514; compare the fingerprint, never this'),
  issuer: z.string(),
  serial: z.string().describe('hexadecimal'),
  sha256: z.string().describe('the fingerprint: SHA-256 of the DER'),
  not_before: dateTime,
  not_after: dateTime,
});

const revocation = z
  .object({
    subject: z.string(),
    sha256: z.string(),
    status: z
      .enum(['good', 'revoked', 'unknown'])
      .describe(
        '`revoked` of a valid token: for a reason that leaves good what was signed before, such as `superseded`, or after a renewal had covered it',
      ),
    list: z
      .object({ issuer: z.string(), this_update: dateTime, next_update: dateTime.nullable() })
      .nullable()
      .describe('the revocation list that says so; null where the status is `unknown`'),
    revoked_at: dateTime.nullable(),
    invalid_since: dateTime.nullable().describe('since when the certificate is believed not to have been good, where the list says so'),
    reason: z.string().nullable().describe('why it was revoked (CRLReason, RFC 5280 §5.3.1), or why the status is not known'),
  })
  .describe('one answer for one certificate (V10)');

export const verificationResult = z
  .object({
    valid: z.boolean(),
    verdict: z
      .enum(verdicts)
      .describe(
        '`not_proved`: nobody whom this installation trusts vouches for it, or something is missing to judge it by; `valid` is false then',
      ),
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
    signer: certificate
      .optional()
      .describe('only of a valid token, as are all members from here to `not_checked`; a mock token has `not_checked` alone'),
    trust_anchor: certificate.optional(),
    policy: z.string().optional().describe('the policy of the TSA, a dotted OID'),
    accuracy_seconds: z.number().nullable().optional().describe('null where the token states none'),
    revocation: z.array(revocation).optional(),
    certificates_ended_at: dateTime
      .nullable()
      .optional()
      .describe('when the first certificate of the chain ended, if it has; nobody reports a key that is stolen after that (V5)'),
    not_checked: z.array(z.string()).optional().describe('what the verdict does not rest on, a phrase or a sentence each'),
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
