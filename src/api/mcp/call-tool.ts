import type { z } from 'zod';
import { callToolParams } from '../../shared/contract/mcp.ts';
import { faultOfAddressKey, idempotencyHeaders } from '../../shared/contract/parameters.ts';
import { validationItems } from '../server/validation-items.ts';
import { clip, isObject, RpcError, rpcErrors } from './json-rpc.ts';
import type { RpcContext } from './revisions/revision.ts';
import type { CalledTool, Tool } from './tools/tool.ts';

/** `tools/call` is the same in all revisions. @throws RpcError −32602, and −32000 if a service token is needed (M7) */
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

export function createToolCaller(tools: readonly Tool[]): CallTool {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const isOpen = (params: unknown) => isObject(params) && byName.get(String(params.name))?.needsToken === false;

  return async (params, { product, hasWrongToken, agent, requestId, headerKey, guards, onReplayed, note }) => {
    // A caller with a wrong token wants to act as a product, so the tool must not treat it as a caller without a token.
    if (hasWrongToken || (product === undefined && !isOpen(params))) {
      throw new RpcError(rpcErrors.unauthorized, 'A valid service token is required in the header X-Service-Token.', {
        code: 'unauthorized',
        request_id: requestId,
      });
    }
    const { name, arguments: given = {}, _meta } = parsed(callToolParams, params, 'params');
    const tool = byName.get(name);
    if (!tool) throw new RpcError(rpcErrors.invalidParams, `Unknown tool: ${clip(name)}`);
    const idempotencyKey = keyOf(_meta?.idempotency_key ?? undefined, headerKey);
    const isOfAddress = product === undefined && tool.hasKeysOfAddress;
    const fault = isOfAddress && idempotencyKey !== undefined ? faultOfAddressKey(idempotencyKey) : undefined;
    if (fault !== undefined) throw invalidParams(fault);
    return tool.call(given ?? {}, { product, agent, requestId, idempotencyKey, guards, onReplayed, note });
  };
}
