import type { z } from 'zod';
import { callToolParams } from '../../../shared/contract/mcp.ts';
import type { Fault } from '../../http/outcome.ts';
import { validationItems } from '../../http/validation-items.ts';
import { clip, isObject, RpcError, type RpcMessage, rpcErrors } from '../json-rpc.ts';
import type { Tool } from '../tools/tool.ts';

/** What a message comes with: the HTTP request around it. */
export interface RpcContext {
  /** The product of the request's service token, if it carries a valid one. */
  readonly product: string | undefined;
  readonly requestId: string;
  /** Told of a call that an earlier one with the same idempotency key has answered already (S9). */
  readonly onReplayed: () => void;
  /** Takes what a message was refused for or failed by: for the log and the metrics. */
  readonly note: (fault: Fault) => void;
}

export type RpcMethods = ReadonlyMap<string, (params: unknown, context: RpcContext) => object | Promise<object>>;

/** Answered whatever version a client offers (M1). */
const protocolVersion = '2024-11-05';
const serverInfo = { name: 'qstamp', version: '0.1.0' };

/** The methods of the Model Context Protocol that this server has (M1, M2, M5, M8). */
export function createMcpMethods(tools: readonly Tool[]): RpcMethods {
  const definitions = tools.map(({ definition }) => definition);
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));

  async function callTool(params: unknown, { product, requestId, onReplayed, note }: RpcContext): Promise<object> {
    if (product === undefined) {
      throw new RpcError(rpcErrors.unauthorized, 'A valid service token is required in the header X-Service-Token.', {
        code: 'unauthorized',
        request_id: requestId,
      });
    }
    const { name, arguments: given = {}, _meta } = parseCall(params);
    const tool = byName.get(name);
    if (!tool) throw new RpcError(rpcErrors.invalidParams, `Unknown tool: ${clip(name)}`);
    return tool.call(given ?? {}, { product, requestId, idempotencyKey: _meta?.idempotency_key ?? undefined, onReplayed, note });
  }

  return new Map<string, (params: unknown, context: RpcContext) => object | Promise<object>>([
    ['initialize', () => ({ protocolVersion, capabilities: { tools: {} }, serverInfo })],
    ['notifications/initialized', () => ({})],
    ['ping', () => ({})],
    ['tools/list', () => ({ tools: definitions })],
    ['tools/call', callTool],
  ]);
}

function parseCall(params: unknown): z.output<typeof callToolParams> {
  const parsed = callToolParams.safeParse(params);
  if (parsed.success) return parsed.data;
  const faults = validationItems(parsed.error, params, ['params']).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  throw new RpcError(rpcErrors.invalidParams, `Invalid params: ${clip(faults.join('; '))}`);
}

/**
 * The result of one request.
 *
 * @throws RpcError −32601 for a method that is not known, −32602 for params that no method takes, and what the method throws.
 */
export async function runMethod(methods: RpcMethods, { method, params }: RpcMessage, context: RpcContext): Promise<object> {
  const run = methods.get(method);
  if (!run) throw new RpcError(rpcErrors.methodNotFound, `Method not found: ${clip(method)}`);
  if (params !== undefined && !isObject(params)) throw new RpcError(rpcErrors.invalidParams, 'Invalid params: give them by name');
  return run(params, context);
}
