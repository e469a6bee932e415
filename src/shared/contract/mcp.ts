import { z } from 'zod';
import { stampTiers } from '../domain/stamp.ts';
import { dateTime, issueOf, metadata, sha256HexOfAnyCase, text, uuid, valueError } from './fields.ts';
import { anyUuid, idempotencyHeaders } from './parameters.ts';
import { qualifiedBrief } from './stamp.ts';
import {
  workflowCompleteResponse,
  workflowStampRequest,
  workflowStampResponse,
  workflowStartRequest,
  workflowStartResponse,
  workflowStateResponse,
} from './workflow.ts';

export const stampHashArguments = z.object({
  sha256_hex: sha256HexOfAnyCase('content'),
  // Not `stampTier`: that would become a reference, and several assistants refuse a tool whose input has references.
  tier: z.enum(stampTiers).default('basic').describe('basic: the hash only; plus: with a verify address; sealed: content may be kept'),
  metadata: metadata(text()).nullish(),
});

/** Arguments of `service_stamp_content`, which always uses tier sealed (M3). */
export const stampContentArguments = z.object({
  content_b64: text().meta({ contentEncoding: 'base64', description: 'canonical base64 of the content: padded; line breaks are ignored' }),
  metadata: metadata(text()).nullish(),
});

/** Adds the rule that exactly one of these members is given. */
const exactlyOne = <Body extends z.ZodType<object>>(body: Body, names: readonly (keyof z.output<Body>)[], words: string): Body =>
  body.check(({ value, issues }) => {
    const given = names.filter((name) => typeof value[name] === 'string');
    if (given.length !== 1) issues.push({ ...issueOf(valueError(`exactly one of ${words} must be given`)), input: value });
  });

/** Arguments of `service_verify_token` (M4). */
export const verifyTokenArguments = exactlyOne(
  z.object({
    token_id: anyUuid.nullish().describe('id of a stamp from this service'),
    token: text().nullish().describe('the opaque token, or base64 of an RFC 3161 token'),
  }),
  ['token_id', 'token'],
  'token_id and token',
).describe('exactly one of token_id and token');

const rpcId = z.union([z.string(), z.number(), z.null()]);

/** One message of a client. This schema is only for the documentation: the endpoint itself validates JSON-RPC 2.0. */
const rpcRequest = z
  .object({ jsonrpc: z.literal('2.0'), id: rpcId.optional(), method: z.string(), params: z.looseObject({}).nullish() })
  .meta({ id: 'RpcRequest', description: 'JSON-RPC 2.0; without an id it is a notification' });

export const rpcResponse = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: rpcId,
    result: z.looseObject({}).optional(),
    error: z.object({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() }).optional(),
  })
  .meta({ id: 'RpcResponse', description: 'JSON-RPC 2.0: a result or an error' });

/** The body of a request: one message, or a batch of messages. */
export const rpcRequests = z.union([rpcRequest, z.array(rpcRequest)]);
export const rpcResponses = z.union([rpcResponse, z.array(rpcResponse)]);
/** The body of a 200. It is empty if the request had only notifications. */
export const rpcAnswer = z.union([rpcResponse, z.array(rpcResponse), z.strictObject({})]);

/** The `params` of `tools/call`. `idempotency_key` works like the HTTP header `Idempotency-Key` (S9). */
export const callToolParams = z.object({
  name: text(),
  arguments: z.unknown().optional(),
  _meta: z.object({ idempotency_key: idempotencyHeaders.shape['idempotency-key'].nullish() }).nullish(),
});

const fileName = text({ max: 255 }).describe('your name for the file; returned with its stamp, never stored');

/** The maximum number of files in one call. The answer lists all of them, and an assistant has to read it. */
const mostFiles = 500;

export const stampFilesArguments = z.object({
  files: z
    .array(z.object({ name: fileName.optional(), sha256_hex: sha256HexOfAnyCase('file') }))
    .min(1)
    .max(mostFiles),
  tier: z.enum(['basic', 'plus']).default('basic').describe('basic, unless your user asked for plus'),
});

/** The answer of `stamp_file_hashes`. It omits the tokens, which have thousands of characters each; `verify_url` has them. */
export const stampFilesAnswer = z.object({
  stamped: z.int().min(0),
  failed: z.int().min(0),
  files: z.array(
    z.object({
      name: z.string().nullable(),
      sha256_hex: z.string(),
      token_id: z.string().nullable().describe('null if the file was not stamped'),
      issued_at: z.string().nullable(),
      tsp_provider: z.string().nullable(),
      is_qualified: z.boolean().nullable(),
      qualified: qualifiedBrief.nullable(),
      verify_url: z.string().nullable(),
      error: z.object({ code: z.string(), detail: z.string() }).nullable(),
    }),
  ),
});

const workflowToken = text({ min: 1, max: 255, pattern: '^[\\x21-\\x7e]+$' }).describe(
  'from the answer of workflow_start; a secret: never show it to anyone',
);
const workflowId = anyUuid.describe('from the answer of workflow_start');
const pageUrl = z.string().describe('a page for your user and the client');

export const workflowStartArguments = workflowStartRequest.omit({ callback_url: true });
export const workflowStartAnswer = workflowStartResponse.extend({ page_url: pageUrl });

export const workflowStatusArguments = z.object({
  workflow_id: workflowId,
  workflow_token: workflowToken.nullish().describe('optional: with it the answer also has agent_id, user_email and the state of the mail'),
});
export const workflowStatusAnswer = workflowStateResponse.extend({ page_url: pageUrl });

export const workflowOutputArguments = workflowStampRequest.extend({ workflow_id: workflowId, workflow_token: workflowToken });
export const workflowOutputAnswer = workflowStampResponse;

export const workflowCompleteArguments = z.object({ workflow_id: workflowId, workflow_token: workflowToken });
const bundleUrl = z.string().describe('a zip with everything needed to check the workflow without this service');
export const workflowCompleteAnswer = workflowCompleteResponse.extend({ page_url: pageUrl, bundle_url: bundleUrl });

export const workflowBundleArguments = z.object({ workflow_id: workflowId });
export const workflowBundleAnswer = z.object({
  workflow_id: uuid,
  output_count: z.int().min(0),
  merkle_root: z.string(),
  completed_at: dateTime,
  bundle_url: bundleUrl,
  evidence_url: z.string().describe('the same as one JSON document'),
  page_url: pageUrl,
});

/** Arguments of `verify_file_hash`: the hash, and exactly one thing to compare it with. */
export const verifyFileArguments = exactlyOne(
  z.object({
    sha256_hex: sha256HexOfAnyCase('file'),
    token_id: anyUuid.nullish().describe('id of a stamp from this service'),
    token: text().nullish().describe('an opaque token, or base64 of an RFC 3161 token'),
    workflow_id: anyUuid.nullish().describe('id of a workflow that may have the file as an output'),
  }),
  ['token_id', 'token', 'workflow_id'],
  'token_id, token and workflow_id',
).describe('sha256_hex, and exactly one of token_id, token and workflow_id');

export const verifyFileAnswer = z.object({
  verified: z
    .boolean()
    .describe('true if it is proved that this exact file existed at issued_at; never true for a test stamp (mock provider)'),
  reason: z.string().nullable().describe('why it is not proved'),
  issued_at: dateTime.nullable().describe('for a workflow: when its root was stamped; null while it is open'),
  tsp_provider: z.string().nullable(),
  is_qualified: z.boolean().nullable(),
  qualified: qualifiedBrief.nullable(),
  token_id: z.string().nullable(),
  sequence_number: z.int().nullable().describe('number of the output, for a workflow'),
  url: z.string().nullable().describe('a page that shows it'),
  not_checked: z.array(z.string()).optional().describe('everything that was not checked, one phrase or sentence each'),
});
