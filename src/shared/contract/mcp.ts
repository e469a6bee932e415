import { z } from 'zod';
import { stampTiers } from '../domain/tiers.ts';
import { dateTime, issueOf, metadata, sha256HexOfAnyCase, text, uuid, valueError } from './fields.ts';
import { anyUuid, idempotencyHeaders } from './parameters.ts';
import {
  workflowCompleteResponse,
  workflowStampRequest,
  workflowStampResponse,
  workflowStartRequest,
  workflowStartResponse,
  workflowStateResponse,
} from './workflow.ts';

/** Arguments of `service_stamp_hash`. */
export const stampHashArguments = z.object({
  sha256_hex: sha256HexOfAnyCase('content'),
  // Not the schema with a name: several assistants refuse a tool whose input has references.
  tier: z.enum(stampTiers).default('basic').describe('basic: the hash only; plus: with a verify address; sealed: content may be kept'),
  metadata: metadata(text()).nullish(),
});

/** Arguments of `service_stamp_content`, which always stamps in tier sealed (M3). */
export const stampContentArguments = z.object({
  content_b64: text().meta({ contentEncoding: 'base64', description: 'canonical base64 of the content: padded, no white space' }),
  metadata: metadata(text()).nullish(),
});

/** Arguments of `service_verify_token`: exactly one of the two (M4). */
export const verifyTokenArguments = z
  .object({
    token_id: anyUuid.nullish().describe('id of a stamp of this service'),
    token: text().nullish().describe('the opaque token, or base64 of an RFC 3161 token'),
  })
  .check(({ value, issues }) => {
    const given = [value.token_id, value.token].filter((member) => typeof member === 'string');
    if (given.length !== 1) issues.push({ ...issueOf(valueError('exactly one of token_id and token must be given')), input: value });
  })
  .describe('exactly one of token_id and token');

const rpcId = z.union([z.string(), z.number(), z.null()]);

/** A message of a client, or a batch of them: as documented, for the endpoint itself judges them by JSON-RPC 2.0 (M7). */
const rpcRequest = z
  .object({ jsonrpc: z.literal('2.0'), id: rpcId.optional(), method: z.string(), params: z.looseObject({}).optional() })
  .meta({ id: 'RpcRequest', description: 'JSON-RPC 2.0; without an id it is a notification' });

export const rpcResponse = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: rpcId,
    result: z.looseObject({}).optional(),
    error: z.object({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() }).optional(),
  })
  .meta({ id: 'RpcResponse', description: 'JSON-RPC 2.0: a result or an error' });

/** One message, or a batch (M7). */
export const rpcRequests = z.union([rpcRequest, z.array(rpcRequest)]);
export const rpcResponses = z.union([rpcResponse, z.array(rpcResponse)]);

/** `params` of `tools/call`; the key is what the header is for HTTP (S9). */
export const callToolParams = z.object({
  name: text(),
  arguments: z.unknown().optional(),
  _meta: z.object({ idempotency_key: idempotencyHeaders.shape['idempotency-key'].nullish() }).nullish(),
});

const fileName = text({ max: 255 }).describe('what you call the file; comes back with its stamp and is stored nowhere');

/** The most files of one call: an assistant has to read the answer. */
const mostFiles = 500;

/** Arguments of `stamp_file_hashes`. */
export const stampFilesArguments = z.object({
  files: z
    .array(z.object({ name: fileName.optional(), sha256_hex: sha256HexOfAnyCase('file') }))
    .min(1)
    .max(mostFiles),
  tier: z.enum(['basic', 'plus']).default('basic').describe('basic, unless your user asked for plus'),
});

/** What `stamp_file_hashes` answers: without tokens, which take thousands of characters each and are to be had at `verify_url`. */
export const stampFilesAnswer = z.object({
  stamped: z.int().min(0),
  failed: z.int().min(0),
  files: z.array(
    z.object({
      name: z.string().nullable(),
      sha256_hex: z.string(),
      token_id: z.string().nullable().describe('null where the file was not stamped'),
      issued_at: z.string().nullable(),
      tsp_provider: z.string().nullable(),
      is_qualified: z.boolean().nullable(),
      verify_url: z.string().nullable(),
      error: z.object({ code: z.string(), detail: z.string() }).nullable(),
    }),
  ),
});

const workflowToken = text({ min: 1, max: 255, pattern: '^[\\x21-\\x7e]+$' }).describe(
  'as workflow_start answered it; a secret: show it to nobody',
);
const workflowId = anyUuid.describe('as workflow_start answered it');
const pageUrl = z.string().describe('for your user and the client to open');

export const workflowStartArguments = workflowStartRequest.omit({ callback_url: true });
export const workflowStartAnswer = workflowStartResponse.extend({ page_url: pageUrl });

export const workflowStatusArguments = z.object({
  workflow_id: workflowId,
  workflow_token: workflowToken.nullish().describe('optional: with it, also agent_id, user_email and how the mail fares'),
});
export const workflowStatusAnswer = workflowStateResponse.extend({ page_url: pageUrl });

export const workflowOutputArguments = workflowStampRequest.extend({ workflow_id: workflowId, workflow_token: workflowToken });
export const workflowOutputAnswer = workflowStampResponse;

export const workflowCompleteArguments = z.object({ workflow_id: workflowId, workflow_token: workflowToken });
const bundleUrl = z.string().describe('a zip with all that it takes to check the workflow without this service');
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

/** Arguments of `verify_file_hash`: the hash, and exactly one of what it is to be compared with. */
export const verifyFileArguments = z
  .object({
    sha256_hex: sha256HexOfAnyCase('file'),
    token_id: anyUuid.nullish().describe('of a stamp of this service'),
    token: text().nullish().describe('an opaque token, or base64 of an RFC 3161 token'),
    workflow_id: anyUuid.nullish().describe('of a workflow in which the file may be an output'),
  })
  .check(({ value, issues }) => {
    const given = [value.token_id, value.token, value.workflow_id].filter((member) => typeof member === 'string');
    if (given.length !== 1)
      issues.push({ ...issueOf(valueError('exactly one of token_id, token and workflow_id must be given')), input: value });
  })
  .describe('sha256_hex, and exactly one of token_id, token and workflow_id');

export const verifyFileAnswer = z.object({
  verified: z
    .boolean()
    .describe('whether this very file is proved to have existed at issued_at; never by a test stamp (of the mock provider)'),
  reason: z.string().nullable().describe('why not, where it is not'),
  issued_at: dateTime.nullable().describe('of a workflow: when its root was stamped; null while it is open'),
  tsp_provider: z.string().nullable(),
  is_qualified: z.boolean().nullable(),
  token_id: z.string().nullable(),
  sequence_number: z.int().nullable().describe('of the output, in a workflow'),
  url: z.string().nullable().describe('a page that shows it'),
  not_checked: z.array(z.string()).optional().describe('what the verdict on a stamp does not rest on, a phrase or a sentence each'),
});
