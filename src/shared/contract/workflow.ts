import { z } from 'zod';
import { outputPath, workflowPath } from '../domain/addresses.ts';
import { languages } from '../domain/language.ts';
import { maxPublicNameCharacters, type PublicMember } from '../domain/public-name.ts';
import { redactedEmail } from '../domain/recipient.ts';
import { workflowTiers } from '../domain/stamp.ts';
import { linkMailStates, workflowStatuses } from '../domain/workflow-state.ts';
import {
  alwaysThere,
  anyJson,
  dateTime,
  email,
  maxMetadataBytes,
  metadata,
  ruled,
  sha256Hex,
  sha256HexOfAnyCase,
  text,
  uuid,
  valueError,
} from './fields.ts';
import { anyUuid, idempotencyHeaders, preferHeaders } from './parameters.ts';
import { callbackUrl, onlyWithDetails } from './stamp.ts';

/** Other values are refused, because each tier changes how a workflow behaves. */
const workflowTier = z.enum(workflowTiers).meta({ id: 'WorkflowTier' });

/** The output types that the interface documents. Other types are allowed too. */
export const documentedOutputTypes = ['image', 'text', 'audio', 'video', 'code', 'layout'] as const;

/** Control characters and line breaks. This is no `pattern` in the schema, because not all regular expressions have these escapes. */
const notOfALine = /[\p{Cc}\u2028\u2029]/u;

const maxAgentIdCharacters = 1024;

/** Caller metadata in which `"public": true` shows one member on the public page, if it can be shown (W24). */
const metadataWithName = (member: PublicMember) =>
  metadata(anyJson).describe(
    `at most ${maxMetadataBytes} bytes as UTF-8 JSON; with \`"public": true\` the workflow page shows its \`${member}\` if that is one line of at most ${maxPublicNameCharacters} characters without a link`,
  );

export const workflowStartRequest = z
  .object({
    user_email: email.describe('e-mail of the client; receives a link that verifies the address'),
    agent_id: text({ max: maxAgentIdCharacters }).describe('free-form agent identifier'),
    briefing_hash: sha256HexOfAnyCase('briefing'),
    briefing_metadata: metadataWithName('title').nullish(),
    tier: workflowTier.default('standard'),
    callback_url: callbackUrl.nullish(),
    locale: z.enum(languages).nullish().describe('language of the mails to the client; without it, English'),
  })
  .meta({ id: 'WorkflowStartRequest' });
export type WorkflowStartRequest = z.output<typeof workflowStartRequest>;

export const workflowStartResponse = z
  .object({
    workflow_id: uuid,
    workflow_token: z.string().describe('opaque bearer token, returned only once'),
    otp_sent_to: z.string(),
    expires_at: dateTime,
    status: z.string().describe('`pending` on creation'),
    page_url: z.string().optional().describe(`the public page, which you can give to the client at once; ${onlyWithDetails}`),
  })
  .meta({ id: 'WorkflowStartResponse' });
export type WorkflowStartResponse = z.output<typeof workflowStartResponse>;

/** The answer with only the fields of interface.md (E15). */
export const startWithoutDetails = alwaysThere(workflowStartResponse);

export const workflowStampRequest = z
  .object({
    output_hash: sha256HexOfAnyCase('output'),
    output_type: ruled(text({ min: 1, max: 100 }), (label) =>
      notOfALine.test(label) ? valueError('output_type must be one line without control characters') : undefined,
    ).meta({
      minLength: 1,
      maxLength: 100,
      description: `a label of one line; documented are ${documentedOutputTypes.join(', ')}`,
      examples: [...documentedOutputTypes],
    }),
    output_metadata: metadataWithName('name').nullish(),
    callback_url: callbackUrl.nullish(),
  })
  .meta({ id: 'WorkflowStampRequest' });
export type WorkflowStampRequest = z.output<typeof workflowStampRequest>;

export const workflowStampResponse = z
  .object({
    output_id: uuid,
    sequence_number: z.int().min(1),
    stamp_token_id: uuid,
    verify_url: z.string().describe('the page of the workflow, with the fragment `#output-<sequence_number>`'),
    workflow_anchor_url: z.string().describe('the workflow page'),
    issued_at: dateTime.optional().describe(`the time of its stamp; ${onlyWithDetails}`),
    chain_hash: sha256Hex
      .optional()
      .describe(`covers this output and all before it: keep it, and nobody can change them without your noticing; ${onlyWithDetails}`),
  })
  .meta({ id: 'WorkflowStampResponse' });
export type WorkflowStampResponse = z.output<typeof workflowStampResponse>;

/** The answer with only the fields of interface.md (E15). */
export const outputWithoutDetails = alwaysThere(workflowStampResponse);

interface NumberedOutput {
  readonly workflowId: string;
  readonly outputId: string;
  readonly tokenId: string;
  readonly sequenceNumber: number;
  readonly chainHash: string;
  /** The time of its stamp. */
  readonly stampedAt: string;
}

/** Makes the body of a 201 for an output. `addressOf` makes an address of this service absolute, if the operator has configured that (W13). */
export const workflowStampResponseOf = (output: NumberedOutput, addressOf: (path: string) => string): WorkflowStampResponse => ({
  output_id: output.outputId,
  sequence_number: output.sequenceNumber,
  stamp_token_id: output.tokenId,
  verify_url: addressOf(outputPath(output.workflowId, output.sequenceNumber)),
  workflow_anchor_url: addressOf(workflowPath(output.workflowId)),
  issued_at: output.stampedAt,
  chain_hash: output.chainHash,
});

/** The body of a 202: the output is accepted, but not stamped and numbered yet (N6). */
export const acceptedOutput = z
  .object({
    token_id: uuid.describe('`stamp_token_id` of the output'),
    status: z.literal('accepted'),
    verify_url: z.string().describe('shows the stamp; `Prefer: wait=10` waits for it'),
    status_url: z.string().describe('shows the state of the workflow'),
  })
  .meta({ id: 'AcceptedOutput' });
export type AcceptedOutput = z.output<typeof acceptedOutput>;

export const workflowCompleteResponse = z
  .object({
    workflow_id: uuid,
    status: z.string().describe('`completed`'),
    output_count: z.int().min(0),
    verify_url: z.string(),
    completed_at: dateTime,
  })
  .meta({ id: 'WorkflowCompleteResponse' });
export type WorkflowCompleteResponse = z.output<typeof workflowCompleteResponse>;

export const workflowRedactResponse = z
  .object({
    workflow_id: uuid,
    status: z.enum(workflowStatuses).describe('of the workflow: redaction does not change it'),
    user_email: z.literal(redactedEmail),
  })
  .meta({ id: 'WorkflowRedactResponse' });
export type WorkflowRedactResponse = z.output<typeof workflowRedactResponse>;

/** The body of a 202: the mail is in the queue. */
export const workflowResendResponse = z
  .object({ workflow_id: uuid, otp_sent_to: z.string(), status: z.literal('pending') })
  .meta({ id: 'WorkflowResendResponse' });
export type WorkflowResendResponse = z.output<typeof workflowResendResponse>;

const salt = z.string().describe('lower-case hexadecimal');

/** The answer about the state of a workflow (W16). */
export const workflowStateResponse = z
  .object({
    workflow_id: uuid,
    status: z.enum(workflowStatuses),
    tier: workflowTier,
    created_at: dateTime,
    expires_at: dateTime,
    confirmed_at: dateTime.nullable().describe('when the link in the mail was opened, or the button behind it pressed'),
    completed_at: dateTime.nullable(),
    output_count: z.int().min(0),
    chain_hash: sha256Hex.describe('of the last output; the briefing hash before the first output'),
    merkle_root: sha256Hex.nullable(),
    verify_url: z.string(),
    agent_id: z.string().optional().describe('this and all following members: only for the holder of the workflow token'),
    user_email: z.string().optional().describe(`\`${redactedEmail}\` after it was erased`),
    briefing_metadata: z.record(z.string(), z.unknown()).nullable().optional(),
    commitment_salts: z
      .object({ user_email: salt, agent_id: salt })
      .nullable()
      .optional()
      .describe('open the commitments of the closing record; null before completion, and after the address was erased'),
    mail: z
      .object({ status: z.enum(linkMailStates), attempts: z.int().min(0), sent_at: dateTime.nullable() })
      .optional()
      .describe('state of the mail with the link'),
  })
  .meta({ id: 'WorkflowState' });
export type WorkflowStateResponse = z.output<typeof workflowStateResponse>;

/** The path parameter of the link that stops mails: a hash and its proof. */
export const stopTokenPath = z.object({ token: z.string().regex(/^[\w-]{43}\.[\w-]{22}$/) });

export const workflowIdPath = z.object({ workflow_id: anyUuid });

export const outputHeaders = idempotencyHeaders.extend(preferHeaders.shape).extend({
  'x-service-token': z.string().optional().describe('the service token of the product, beside the workflow token: `callback_url` needs it'),
});

/** The query parameter of verify-user: the challenge from the e-mail. If it is absent, it becomes an empty text, which is never valid. */
export const verifyUserQuery = z.object({ challenge: text().default('') });

/** The path parameters of the same link in its short form. */
export const mailedLinkParameters = workflowIdPath.extend({ challenge: text() });

/** The answer of verify-user for clients that ask for JSON (E12). */
export const verifyUserResponse = z
  .object({
    workflow_id: uuid,
    status: z
      .enum(['active', 'pending'])
      .describe('`active`: the address is confirmed; `pending`: only a POST to this address confirms it'),
  })
  .meta({ id: 'VerifyUserResponse' });

const whole = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

/** The query parameters of a workflow's page (W14). Invalid ones are ignored. `find` is a hash, or a line that `sha256sum` printed. */
export const workflowPageQuery = z.object({
  page: whole.catch(1),
  output: whole.optional().catch(undefined).describe('shows the page with this output'),
  find: z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^[0-9a-f]{64}(\s.*)?$/)
    .transform((line) => line.slice(0, 64))
    .optional()
    .catch(undefined),
});
