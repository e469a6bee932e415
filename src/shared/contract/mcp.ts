import { z } from 'zod';
import { stampTiers } from '../domain/tiers.ts';
import { issueOf, metadata, sha256Hex, text, valueError } from './fields.ts';
import { anyUuid, idempotencyHeaders } from './parameters.ts';

/** Arguments of `service_stamp_hash`. */
export const stampHashArguments = z.object({
  sha256_hex: sha256Hex,
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
