import { z } from 'zod';
import type { Qualification } from '../domain/qualification.ts';
import { verdicts } from '../domain/reasons.ts';
import { digestCharacters } from '../domain/stamp.ts';
import { alwaysThere, dateTime, hashHintsFor, sha256Hex, text, uuid } from './fields.ts';
import { anyUuid } from './parameters.ts';
import { imprintShown, qualifiedBrief, qualifiedBriefOf } from './stamp.ts';

const token = text().meta({ description: 'the opaque token that a stamp operation returned' });

export const verifyRequest = z.object({ token }).meta({ id: 'VerifyRequest' });

const lengths = Object.values(digestCharacters);
const oneDigest = lengths.map((length) => `[0-9a-f]{${length}}`).join('|');

const digestHex = text({
  min: Math.min(...lengths),
  max: Math.max(...lengths),
  pattern: `^(${oneDigest})$`,
  lowersHex: true,
  hintFor: hashHintsFor(lengths, 'a SHA-256, SHA-384 or SHA-512'),
}).meta({
  description: 'SHA-256, SHA-384 or SHA-512 as 64, 96 or 128 hexadecimal characters in either case',
});

/** The body of raw verification. If it has a `hash`, the hash must match the token's message imprint (V7). */
export const rawVerifyRequest = z
  .object({
    token,
    hash: digestHex.nullish().describe('if given, it must equal the digest in the token, in the algorithm of the token'),
    hashes: z
      .array(digestHex)
      .max(lengths.length)
      .nullish()
      .describe(
        'the file’s hashes in more algorithms: needed if the evidence record was renewed with another algorithm than it began with',
      ),
    revocation_lists: z
      .array(text())
      .max(64)
      .nullish()
      .describe(
        'revocation lists that count beside those of the service, such as those in an evidence bundle: base64 of DER, 256 KiB in all. A list without the signature of its issuer does not count. Every 64 KiB count as one more request',
      ),
  })
  .meta({ id: 'RawVerifyRequest' });
export type RawVerifyRequest = z.output<typeof rawVerifyRequest>;

const withoutSpace = z.string().transform((pasted) => pasted.replace(/\s/g, ''));

/** The form on the verification page. Pasted tokens often have line breaks, and pasted hashes are often in upper case. */
export const verifyForm = z.object({ token: withoutSpace, hash: withoutSpace.transform((hash) => hash.toLowerCase()).default('') });

export const tokenIdPath = z.object({ token_id: anyUuid });

export const trustedListType = 'application/vnd.etsi.tsl+xml';

export const trustedListPath = z.object({ sha256: sha256Hex });

/** The path parameters of the content of a sealed stamp (S11). */
export const sealedContentPath = tokenIdPath.extend({ secret: z.string() });

const certificate = z.object({
  subject: z.string().describe('RFC 4514; compare the fingerprint, not this'),
  issuer: z.string(),
  serial: z.string().describe('hexadecimal'),
  sha256: z.string().describe('the fingerprint: SHA-256 of the DER'),
  not_before: dateTime,
  not_after: dateTime,
});

const ofList = 'only with the basis `list`';
export const qualifiedVerdict = qualifiedBrief
  .extend({
    country: z.string().nullable().describe(`${ofList}: the code of the country, as in its trusted list`),
    list_number: z.int().nullable().describe('the sequence number of the list'),
    list_sha256: z.string().nullable().describe('the list itself is at `/trusted-lists/{sha256}`'),
    service: z.string().nullable().describe('the name of the service that signed, as in the list'),
    provider_name: z.string().nullable(),
    service_status: z.string().nullable().describe('its status at the time of the time-stamp, such as `granted` or `withdrawn`'),
    granted_since: dateTime.nullable().describe('null if the time-stamp is not qualified'),
    status_since: dateTime.nullable(),
    at_proof_of_existence: z
      .object({ time: dateTime, service_status: z.string(), status_since: dateTime })
      .nullable()
      .describe(
        'only if it differs: the status of the service at the earliest time at which another proof shows that the token existed (the time of the next token over it, or now). DSS wants the service to be granted then too',
      ),
    claimed_by_token: z
      .boolean()
      .describe('whether the token itself says that it is qualified (EN 319 422); this is the claim of the provider'),
  })
  .meta({ id: 'QualifiedVerdict' });
export type QualifiedVerdict = z.output<typeof qualifiedVerdict>;

const revocation = z
  .object({
    subject: z.string(),
    sha256: z.string(),
    status: z
      .enum(['good', 'revoked', 'unknown'])
      .describe(
        'a valid token can have `revoked`: the reason does not affect earlier signatures, such as `superseded`, or a renewal already covered the token',
      ),
    list: z
      .object({ issuer: z.string(), this_update: dateTime, next_update: dateTime.nullable() })
      .nullable()
      .describe('the revocation list with this status; null if the status is `unknown`'),
    revoked_at: dateTime.nullable(),
    invalid_since: dateTime.nullable().describe('when the certificate is believed to have become invalid, if the list says so'),
    reason: z.string().nullable().describe('why it was revoked (CRLReason, RFC 5280 §5.3.1), or why the status is unknown'),
  })
  .describe('the status of one certificate');

export const verificationResult = z
  .object({
    valid: z.boolean(),
    token_id: uuid.nullable(),
    issued_at: dateTime.nullable(),
    content_sha256: z.string().nullable().describe('null if the imprint is not a SHA-256'),
    tsp_provider: z.string().nullable(),
    is_qualified: z.boolean().nullable(),
    reason: z.string().nullable().describe('a stable code, a colon, one sentence; null when valid'),
    verdict: z
      .enum(verdicts)
      .optional()
      .describe(
        'this and all members below are only with `details=true`. `not_proved`: no trust anchor of this installation covers it, or something needed for the check is missing; then `valid` is false',
      ),
    imprint: imprintShown.nullable().optional().describe('what the token proves; null if it proves nothing'),
    qualified: qualifiedVerdict.nullable().optional().describe('null if nothing is known about the signer'),
    holds_until: dateTime
      .optional()
      .describe(
        'only for a valid evidence record: when the certificates of its last token expire. The service renews its own records before that',
      ),
    signer: certificate
      .optional()
      .describe('this and all members up to `not_checked` are only for a valid token; a mock token has only `not_checked`'),
    trust_anchor: certificate.optional(),
    policy: z.string().optional().describe('the policy of the TSA, a dotted OID'),
    accuracy_seconds: z.number().nullable().optional().describe('null if the token does not state it'),
    revocation: z.array(revocation).optional(),
    certificates_ended_at: dateTime
      .nullable()
      .optional()
      .describe('when the first certificate of the chain expired, if it has; nobody reports a key that is stolen after that'),
    not_checked: z.array(z.string()).optional().describe('everything that was not checked, one phrase or sentence each'),
    advice: z.string().optional().describe('one sentence: what you can do about the reason; only if there is something'),
  })
  .meta({ id: 'VerificationResult' });
export type VerificationResult = z.output<typeof verificationResult>;

/** A result with only the fields of interface.md (E15). All others are optional. */
export const resultWithoutDetails = alwaysThere(verificationResult);

export function qualifiedVerdictOf(qualification: Qualification): QualifiedVerdict {
  const { status, listed, isClaimedByToken } = qualification;
  const later = listed?.atProofOfExistence;
  return {
    ...qualifiedBriefOf({ isQualified: status === 'qualified', qualification }),
    country: listed?.territory ?? null,
    list_number: listed?.listNumber ?? null,
    list_sha256: listed?.listSha256 ?? null,
    service: listed?.serviceName ?? null,
    provider_name: listed?.providerName ?? null,
    service_status: listed?.status ?? null,
    granted_since: status === 'qualified' ? (listed?.since ?? null) : null,
    status_since: listed?.since ?? null,
    at_proof_of_existence: later ? { time: later.time, service_status: later.status, status_since: later.since } : null,
    claimed_by_token: isClaimedByToken,
  };
}

/** Describes an answer whose body is the content itself. */
export const contentBytes = z
  .string()
  .meta({ id: 'Content', format: 'binary', description: 'the content that was stamped, byte for byte' });

export const evidenceRenewal = z
  .object({
    token_id: uuid,
    imprint: imprintShown.describe('the content’s hash of the new algorithm'),
    is_renewed: z.boolean().describe('whether the evidence record already covers that hash; if not, the next daily renewal adds it'),
  })
  .meta({ id: 'EvidenceRenewal' });
export type EvidenceRenewal = z.output<typeof evidenceRenewal>;
