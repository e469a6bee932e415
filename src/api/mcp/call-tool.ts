import type { z } from 'zod';
import { callToolParams } from '../../shared/contract/mcp.ts';
import { idempotencyHeaders } from '../../shared/contract/parameters.ts';
import { serviceTokenRequired } from '../http/credentials.ts';
import { validationItems } from '../http/validation.ts';
import { clip, RpcError, rpcErrors } from './json-rpc.ts';
import type { CallContext, CalledTool, Tool } from './tools/tool.ts';

export interface McpRequest extends CallContext {
  /** The parsed JSON; undefined if the request has no body. */
  readonly body: unknown;
  /** Their names are in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The product of the service token; undefined without a valid token. */
  readonly product: string | undefined;
  /** The header `Idempotency-Key`. */
  readonly headerKey: string | undefined;
  readonly offered: readonly Tool[];
}

/** `tools/call` is the same in all revisions. @throws RpcError −32602, −32029 beyond a rate limit, −32000 without a valid service token (M7, M14) */
export async function callTool(params: unknown, request: McpRequest): Promise<CalledTool> {
  const product = productOf(request);
  const { name, arguments: given = {}, _meta } = parsed(callToolParams, params, 'params');
  const tool = request.offered.find((offered) => offered.name === name);
  if (!tool) throw new RpcError(rpcErrors.invalidParams, `Unknown tool: ${clip(name)}`);
  const idempotencyKey = keyOf(_meta?.idempotency_key ?? undefined, request.headerKey);
  return tool.call(given ?? {}, { ...request, product, idempotencyKey });
}

/** The product of the service token. Every call needs one, even a call that is a notification. @throws RpcError −32000 (M14) */
export function productOf({ product, requestId, headers }: McpRequest): string {
  if (product !== undefined) return product;
  const data = { code: 'unauthorized', request_id: requestId };
  throw new RpcError(rpcErrors.unauthorized, serviceTokenRequired(headers), data);
}

/** The idempotency key of a call, from `_meta` or from the header. If both are given, they must be equal. */
function keyOf(inMeta: string | undefined, headerKey: string | undefined): string | undefined {
  const name = 'idempotency-key';
  const inHeader = headerKey === undefined ? undefined : parsed(idempotencyHeaders, { [name]: headerKey }, 'header')[name];
  if (inMeta !== undefined && inHeader !== undefined && inMeta !== inHeader) {
    throw invalidParams('the header Idempotency-Key and _meta.idempotency_key differ');
  }
  return inMeta ?? inHeader;
}

function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown, place: string): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const faults = validationItems(result.error, given, [place]).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  throw invalidParams(clip(faults.join('; ')));
}

const invalidParams = (why: string) => new RpcError(rpcErrors.invalidParams, `Invalid params: ${why}`);
