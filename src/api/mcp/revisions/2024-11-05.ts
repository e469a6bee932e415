import type { CallTool } from '../call-tool.ts';
import {
  clip,
  errorResponse,
  idOf,
  isObject,
  RpcError,
  type RpcMessage,
  type RpcResponse,
  readMessage,
  resultResponse,
  rpcErrors,
  rpcFault,
} from '../json-rpc.ts';
import type { Tool } from '../tools/tool.ts';
import type { Revision, RpcContext } from './revision.ts';

type RpcMethods = ReadonlyMap<string, (params: unknown, context: RpcContext) => object | Promise<object>>;

/** Answered whatever version a client offers (M1). */
const protocolVersion = '2024-11-05';
const serverInfo = { name: 'qstamp', version: '0.1.0' };

/** The most messages of one batch: a small body must not ask for a huge answer. */
const maxBatch = 100;

const invalid = (why: string) => new RpcError(rpcErrors.invalidRequest, `Invalid Request: ${why}`);

/** The methods that clients have which open with `initialize` (M1, M2, M5, M8). */
function createMethods(tools: readonly Tool[], callTool: CallTool): RpcMethods {
  const definitions = tools.map(({ definition }) => definition);
  return new Map<string, (params: unknown, context: RpcContext) => object | Promise<object>>([
    ['initialize', () => ({ protocolVersion, capabilities: { tools: {} }, serverInfo })],
    ['notifications/initialized', () => ({})],
    ['ping', () => ({})],
    ['tools/list', () => ({ tools: definitions })],
    ['tools/call', async (params, context) => (await callTool(params, context)).result],
  ]);
}

/**
 * The result of one request.
 *
 * @throws RpcError −32601 for a method that is not known, −32602 for params that no method takes, and what the method throws.
 */
async function runMethod(methods: RpcMethods, { method, params }: RpcMessage, context: RpcContext): Promise<object> {
  const run = methods.get(method);
  if (!run) throw new RpcError(rpcErrors.methodNotFound, `Method not found: ${clip(method)}`);
  if (params !== undefined && !isObject(params)) throw new RpcError(rpcErrors.invalidParams, 'Invalid params: give them by name');
  return run(params, context);
}

/**
 * The revision of the interface (M1–M8): faults of the protocol are JSON-RPC errors at HTTP 200, only a missing token is 401. `Accept` and
 * `MCP-Protocol-Version` change nothing. All that does not say that it speaks a later revision is answered by it, what is no JSON-RPC too.
 */
export function createFirstRevision(tools: readonly Tool[], callTool: CallTool): Revision {
  const methods = createMethods(tools, callTool);

  /** Undefined for a notification: none of those that we know asks for anything, and a call without an id is not run (M7). */
  async function answerMessage(value: unknown, context: RpcContext): Promise<RpcResponse | undefined> {
    try {
      const message = readMessage(value);
      if (message.id === undefined) return undefined;
      return resultResponse(message.id, await runMethod(methods, message, context));
    } catch (error) {
      if (error instanceof RpcError) {
        context.note(rpcFault(error));
        return errorResponse(idOf(value), error);
      }
      context.note({ outcome: 'failed', code: 'internal_error', err: error });
      const data = { code: 'internal_error', request_id: context.requestId };
      return errorResponse(idOf(value), new RpcError(rpcErrors.internalError, 'Internal error', data));
    }
  }

  /** The answer to a whole body: one message or a batch of them (JSON-RPC 2.0 §6), whose answers come in the order of its requests. */
  async function answerBody(body: unknown, context: RpcContext): Promise<RpcResponse | readonly RpcResponse[] | undefined> {
    const refuse = (fault: RpcError) => {
      context.note(rpcFault(fault));
      return errorResponse(null, fault);
    };
    if (body === undefined) return refuse(new RpcError(rpcErrors.parseError, 'Parse error: the body is empty'));
    if (!Array.isArray(body)) return answerMessage(body, context);
    if (body.length === 0) return refuse(invalid('a batch holds at least one message'));
    if (body.length > maxBatch) return refuse(invalid(`a batch holds at most ${maxBatch} messages`));
    // One key covers a batch: each of its calls has one of its own under it (M10).
    const keyAt = (index: number) => (context.headerKey === undefined ? undefined : `${context.headerKey}:${index}`);
    const answers = await Promise.all(
      body.map((message: unknown, index) => answerMessage(message, { ...context, headerKey: keyAt(index) })),
    );
    const responses = answers.filter((answer) => answer !== undefined);
    return responses.length > 0 ? responses : undefined;
  }

  return {
    answer: async ({ body }, context) => {
      const answer = await answerBody(body, context);
      if (answer === undefined) return { status: 202 };
      return { status: needsToken(answer) ? 401 : 200, body: answer };
    },
  };
}

function needsToken(answer: RpcResponse | readonly RpcResponse[]): boolean {
  return [answer].flat().some((response) => 'error' in response && response.error.code === rpcErrors.unauthorized);
}
