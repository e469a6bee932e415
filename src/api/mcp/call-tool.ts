import type { z } from 'zod';
import { callToolParams } from '../../shared/contract/mcp.ts';
import { idempotencyHeaders } from '../../shared/contract/parameters.ts';
import { validationItems } from '../http/validation.ts';
import { clip, RpcError, rpcErrors } from './json-rpc.ts';
import type { RpcContext } from './revisions/revision.ts';
import type { CalledTool, Tool } from './tools/tool.ts';

/** `tools/call` is the same in all revisions. @throws RpcError −32602, −32029 beyond a rate limit, −32000 without a valid service token (M7, M14) */
export type CallTool = (params: unknown, context: RpcContext) => Promise<CalledTool>;

const invalidParams = (why: string) => new RpcError(rpcErrors.invalidParams, `Invalid params: ${why}`);

function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown, place: string): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const faults = validationItems(result.error, given, [place]).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  throw invalidParams(clip(faults.join('; ')));
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

/** The product of the service token. Every call needs one, even a call that is a notification. @throws RpcError −32000 (M14) */
export function productOf({ product, requestId }: RpcContext): string {
  if (product !== undefined) return product;
  const data = { code: 'unauthorized', request_id: requestId };
  throw new RpcError(rpcErrors.unauthorized, 'A valid service token is required in the header X-Service-Token.', data);
}

export function createToolCaller(tools: readonly Tool[]): CallTool {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));

  return async (params, context) => {
    const product = productOf(context);
    const { name, arguments: given = {}, _meta } = parsed(callToolParams, params, 'params');
    const tool = byName.get(name);
    if (!tool) throw new RpcError(rpcErrors.invalidParams, `Unknown tool: ${clip(name)}`);
    const { requestId, headerKey, guards, onReplayed, note } = context;
    const idempotencyKey = keyOf(_meta?.idempotency_key ?? undefined, headerKey);
    return tool.call(given ?? {}, { product, requestId, idempotencyKey, guards, onReplayed, note });
  };
}
