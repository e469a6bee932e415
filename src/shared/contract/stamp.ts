import { createHash } from 'node:crypto';
import { z } from 'zod';
import { verifyPath } from '../domain/addresses.ts';
import { QUALIFICATION_REASONS, type Qualification, qualificationBases } from '../domain/qualification.ts';
import { ServiceError } from '../domain/service-error.ts';
import { type Imprint, imprintAlgorithms, type StampTier, sha256Imprint, stampTiers } from '../domain/stamp.ts';
import { errorResponse } from './error.ts';
import { alwaysThere, dateTime, issueOf, maxMetadataBytes, metadata, sha256Hex, text, uuid, valueError } from './fields.ts';

/**
 * The data for the webhook of a stamp: the receiver's address, the secret address of sealed content, and the product that asked for the webhook.
 * It is stored encrypted with the key of the stamp.
 */
export const callbackSchema = z.object({ url: z.string(), sealed_storage_url: z.string().nullable(), product: z.string() });
export type Callback = z.output<typeof callbackSchema>;

export const stampTier = z.enum(stampTiers).meta({ id: 'StampTier' });

/**
 * Decodes canonical base64 (RFC 4648 §4: standard alphabet, padding, zero pad bits). White space is ignored, if it is not more than the rest. Returns
 * undefined for any other text (S2).
 * Encodes the result again to check the text, because a regular expression fails on texts of 14 million characters.
 */
export function decodeCanonicalBase64(encoded: string): Buffer | undefined {
  const decoded = Buffer.from(encoded, 'base64');
  const canonical = decoded.toString('base64');
  return canonical === encoded || isSpaced(canonical, encoded) ? decoded : undefined;
}

/** The maximum length of base64 with white space in it. */
const mostSpaced = (length: number): number => 2 * length + 1_024;

const isSpace = (octet: number | undefined): boolean => octet === 0x20 || octet === 0x09 || octet === 0x0a || octet === 0x0d;

/** Whether `encoded` is `canonical` with white space in it. Compares octets, because replacing in a text of megabytes may take a second. */
function isSpaced(canonical: string, encoded: string): boolean {
  if (encoded.length <= canonical.length || encoded.length > mostSpaced(canonical.length)) return false;
  const [wanted, given] = [Buffer.from(canonical), Buffer.from(encoded)];
  let found = 0;
  for (let at = 0; at < given.length; at += 1) {
    if (given[at] === wanted[found]) found += 1;
    else if (!isSpace(given[at])) return false;
  }
  return found === wanted.length;
}

const content = text().meta({
  contentEncoding: 'base64',
  description: 'canonical base64 of the content, perhaps with line breaks; only in tier sealed',
});

/** The address of a webhook receiver (N2). */
export const callbackUrl = text({ min: 1, max: 2048 }).describe(
  'receives a signed webhook when it is done: only for callers with a service token; https, and not a private address',
);

/** Returns why an address is not allowed for a webhook, or undefined if it is allowed. */
export type CallbackRule = (url: string) => string | undefined;

/** Adds a rule for `callback_url` to the schema of a body. Without a rule the caller cannot use webhooks (N2). */
export const withCallbackRule = <Body extends z.ZodType<{ callback_url?: string | null | undefined }>>(
  body: Body,
  rule: CallbackRule = () => 'callback_url is taken from callers with a service token',
): Body =>
  body.check(({ value: { callback_url: url }, issues }) => {
    const fault = typeof url === 'string' ? rule(url) : undefined;
    if (fault !== undefined) issues.push({ ...issueOf(valueError(fault), ['callback_url']), input: url });
  });

/** The body of a stamp operation as the client sends it. `stampRequestFor` checks the rules over several fields. */
export const stampFields = z
  .object({
    hash: sha256Hex.nullish(),
    content_b64: content.nullish(),
    tier: stampTier.default('basic'),
    metadata: metadata(text()).nullish().describe(`stored but not signed; at most ${maxMetadataBytes} bytes as UTF-8 JSON`),
    callback_url: callbackUrl.nullish(),
  })
  .meta({ id: 'StampRequest', description: 'give hash or content_b64' });
export type StampRequest = z.input<typeof stampFields>;

/** A valid stamp request: what to stamp, and the content if it is sealed. */
export interface StampOrder {
  /** The digest to stamp. If the request has content, this is its SHA-256. */
  readonly imprint: Imprint;
  readonly content: Buffer | undefined;
  readonly tier: StampTier;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** The address of the webhook, if the caller wants one. */
  readonly callbackUrl?: string;
}

/** Rules for a stamp request that depend on the operation and the caller, not on the body. */
export interface StampRules {
  /** The tier in the path of an agent operation. It overrides the tier in the body (S5). */
  readonly tier?: StampTier;
  /** Maximum size of the decoded content, in bytes. Larger content is refused with 413. */
  readonly sealedMaxBytes?: number;
  /** If set, content is refused in every tier. */
  readonly takesNoContent?: true;
  /** If absent, the caller cannot use webhooks. */
  readonly judgeCallback?: CallbackRule;
}

/** Makes the schema for the body of a stamp operation (S1). Parsing throws ServiceError `payload_too_large` if the content is too large. */
export function stampRequestFor(rules: StampRules = {}) {
  const { sealedMaxBytes = Number.POSITIVE_INFINITY } = rules;
  const tooLarge = () => new ServiceError('payload_too_large', `content_b64 may hold at most ${sealedMaxBytes} bytes of content`);
  return withCallbackRule(stampFields, rules.judgeCallback).transform((fields, context): StampOrder => {
    const refuse = (sentence: string, path: string[] = []) => {
      context.addIssue(issueOf(valueError(sentence), path));
      return z.NEVER;
    };
    const tier = rules.tier ?? fields.tier;
    const { hash, content_b64: encoded, callback_url: callbackUrl } = fields;
    const order = { tier, metadata: fields.metadata ?? undefined, ...(typeof callbackUrl === 'string' && { callbackUrl }) };

    if (typeof encoded !== 'string') {
      if (typeof hash === 'string') return { ...order, imprint: sha256Imprint(hash), content: undefined };
      return refuse('either hash or content_b64 must be given');
    }
    if (rules.takesNoContent) return refuse('content_b64 is not allowed in a list: stamp its hash, or send it alone');
    if (tier !== 'sealed') return refuse(`content_b64 is only allowed in tier sealed. ${rules.tier ? sealedByPath : sealedByBody}`);
    if (encoded.length > mostSpaced(4 * Math.ceil(sealedMaxBytes / 3))) throw tooLarge();
    const content = decodeCanonicalBase64(encoded);
    if (!content) {
      const hint = /[-_]/.test(encoded) ? `. ${notBase64url}` : '';
      return refuse(`content_b64 must be canonical base64: standard alphabet, padded${hint}`, ['content_b64']);
    }
    if (content.length > sealedMaxBytes) throw tooLarge();
    const contentHash = createHash('sha256').update(content).digest('hex');
    if (typeof hash === 'string' && hash !== contentHash) return refuse('hash is not the SHA-256 of content_b64');
    return { ...order, imprint: sha256Imprint(contentHash), content };
  });
}

/** What to do about typical mistakes with content (E16). */
const sealedByPath = 'The path decides the tier: send it to the path that ends with /sealed.';
const sealedByBody = 'Add "tier": "sealed".';
const notBase64url = 'This looks like base64url: write + instead of -, and / instead of _.';

/** The header of the agent operations. It claims a payment, and the service does not verify this claim (S10). */
export const agentHeaders = z.object({
  'x-payment-transaction': text({ max: 256, pattern: '^[\\x20-\\x7e]*$' })
    .optional()
    .describe('a payment that you say you made: stored with the stamp, never checked'),
});

/** Describes a member that interface.md does not have (E15). */
export const onlyWithDetails = 'only with `details=true`';

/** The stamped digest and its algorithm (S15). */
export const imprintShown = z
  .object({ algorithm: z.enum(imprintAlgorithms), digest: z.string().describe('lower-case hexadecimal') })
  .meta({ id: 'Imprint' });

/** Returns the value of `content_sha256` for an imprint: null if its algorithm is not SHA-256, or if the digest is damaged. */
export const contentSha256Of = ({ algorithm, digest }: Imprint): string | null => (algorithm === 'sha256' && digest !== '' ? digest : null);

/** Whether a stamp is qualified, who says so, and why not. */
export const qualifiedBrief = z
  .object({
    status: z.enum(['qualified', 'not_qualified']),
    basis: z
      .enum(qualificationBases)
      .nullable()
      .describe(
        '`list`: a trusted list of the EU says it; `operator`: only the operator of this service claims it; null: nobody says anything',
      ),
    reason: z.string().nullable().describe('why it is not qualified: a code and a sentence; null if it is'),
  })
  .meta({ id: 'Qualified' });

interface MaybeQualified {
  readonly isQualified: boolean;
  readonly qualification?: Pick<Qualification, 'basis' | 'reason'> | undefined;
}

/** The member `qualified` of answers. A reply about a stamp that an earlier run of its job stored has no reason. */
export function qualifiedBriefOf({ isQualified, qualification }: MaybeQualified): z.output<typeof qualifiedBrief> {
  const { basis = isQualified ? 'operator' : null, reason = null } = qualification ?? {};
  return { status: isQualified ? 'qualified' : 'not_qualified', basis, reason: reason && `${reason}: ${QUALIFICATION_REASONS[reason]}` };
}

export const stampToken = z
  .object({
    token_id: uuid,
    issued_at: dateTime,
    content_sha256: sha256Hex,
    token: z
      .string()
      .describe(
        'opaque token; with real providers base64 of the RFC 3161 TimeStampToken, or of the EvidenceRecord (RFC 4998) of a batched stamp',
      ),
    tier: stampTier,
    tsp_provider: z.string(),
    is_qualified: z.boolean(),
    verify_url: z.string(),
    sealed_storage_url: z.string().nullable(),
    imprint: imprintShown.optional().describe(onlyWithDetails),
    qualified: qualifiedBrief.optional().describe(onlyWithDetails),
  })
  .meta({ id: 'StampToken' });
export type StampToken = z.output<typeof stampToken>;

/** A stamp with only the fields of interface.md (E15). A new field is a detail if it is optional. */
export const withoutDetails = alwaysThere(stampToken);

/** Makes the body of a 201 for a stamp. Its imprint is a SHA-256, as for all stamps over JSON. `sealedUrl`: the secret address of sealed content. */
export const stampTokenOf = (
  { tokenId, imprint, tier }: { readonly tokenId: string; readonly imprint: Imprint; readonly tier: StampTier },
  proof: MaybeQualified & { readonly issuedAt: string; readonly token: string; readonly provider: string },
  sealedUrl: string | null,
): StampToken => ({
  token_id: tokenId,
  issued_at: proof.issuedAt,
  content_sha256: imprint.digest,
  token: proof.token,
  tier,
  tsp_provider: proof.provider,
  is_qualified: proof.isQualified,
  verify_url: verifyPath(tokenId),
  sealed_storage_url: sealedUrl,
  imprint,
  qualified: qualifiedBriefOf(proof),
});

/** The body of a 504: the stamp was accepted, but not finished in time (E11). */
export const pendingStamp = errorResponse
  .extend({ token_id: uuid, verify_url: z.string(), sealed_storage_url: z.string().optional() })
  .meta({ id: 'PendingStamp' });

/** The description of values in the list of stamps: the list shows stored values and does not verify them. */
const asRecorded = 'as recorded; verify the stamp to get a proof';

const stampListItem = z
  .object({
    token_id: uuid,
    issued_at: dateTime.describe(asRecorded),
    tier: stampTier,
    content_sha256: sha256Hex.nullable().describe('null if the imprint is not a SHA-256 (only with `imprints=all`) or is damaged'),
    is_qualified: z.boolean().describe(asRecorded),
    imprint: imprintShown.optional().describe(onlyWithDetails),
  })
  .meta({ id: 'StampListItem' });

/** The body of a 202: the stamp is accepted, but not made yet (N1). */
export const acceptedStamp = z
  .object({
    token_id: uuid,
    status: z.literal('accepted'),
    verify_url: z.string().describe('shows the outcome; `Prefer: wait=10` waits for it'),
    sealed_storage_url: z.string().nullable(),
  })
  .meta({ id: 'AcceptedStamp' });
export type AcceptedStamp = z.output<typeof acceptedStamp>;

export const stampListResponse = z.object({ items: z.array(stampListItem), total: z.int() }).meta({ id: 'StampListResponse' });
export type StampListResponse = z.output<typeof stampListResponse>;
