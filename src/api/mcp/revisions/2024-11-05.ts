import { type CallTool, productOf } from '../call-tool.ts';
import {
  clip,
  idOf,
  isObject,
  RpcError,
  type RpcMessage,
  type RpcResponse,
  readMessage,
  resultResponse,
  rpcErrorResponse,
  rpcErrors,
  rpcFault,
} from '../json-rpc.ts';
import type { Tool } from '../tools/tool.ts';
import type { Revision, RpcContext } from './revision.ts';

type RpcMethods = ReadonlyMap<string, (params: unknown, context: RpcContext) => object | Promise<object>>;

/** Every client gets this version, even if it offers another. */
const protocolVersion = '2024-11-05';
const serverInfo = { name: 'qstamp', version: '0.1.0' };

/** The maximum number of messages in one batch: a small body must not cause a huge answer. */
const maxBatch = 100;

const invalid = (why: string) => new RpcError(rpcErrors.invalidRequest, `Invalid Request: ${why}`);

/** The methods of this revision, in which clients begin with `initialize`. */
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
 * @throws RpcError −32601 for an unknown method, −32602 if the params are not an object; every error that the method throws
 */
async function runMethod(methods: RpcMethods, { method, params }: RpcMessage, context: RpcContext): Promise<object> {
  const run = methods.get(method);
  if (!run) throw new RpcError(rpcErrors.methodNotFound, `Method not found: ${clip(method)}`);
  if (params !== undefined && !isObject(params)) throw new RpcError(rpcErrors.invalidParams, 'Invalid params: give them by name');
  return run(params, context);
}

/**
 * The revision of the published interface (M1). Faults of the protocol are JSON-RPC errors with HTTP 200; only a missing token is 401, and a rate
 * limit 429. The header `MCP-Protocol-Version` is ignored. It answers every body that does not belong to a later revision, even a body that is not JSON-RPC.
 */
export function createFirstRevision(tools: readonly Tool[], callTool: CallTool): Revision {
  const methods = createMethods(tools, callTool);

  /** Answers one message. Returns undefined for a notification, which is never run: the known notifications need no work. A call needs its token. */
  async function answerMessage(value: unknown, context: RpcContext): Promise<RpcResponse | undefined> {
    try {
      const message = readMessage(value);
      if (message.id === undefined) {
        if (message.method === 'tools/call') productOf(context);
        return undefined;
      }
      return resultResponse(message.id, await runMethod(methods, message, context));
    } catch (error) {
      if (error instanceof RpcError) {
        context.note(rpcFault(error));
        return rpcErrorResponse(idOf(value), error);
      }
      context.note({ outcome: 'failed', code: 'internal_error', err: error });
      const data = { code: 'internal_error', request_id: context.requestId };
      return rpcErrorResponse(idOf(value), new RpcError(rpcErrors.internalError, 'Internal error', data));
    }
  }

  /**
   * Answers a whole body: one message or a batch (JSON-RPC 2.0 §6). The answers to a batch are in the order of its requests. Returns undefined if
   * there are only notifications.
   */
  async function answerBody(body: unknown, context: RpcContext): Promise<RpcResponse | readonly RpcResponse[] | undefined> {
    const refuse = (fault: RpcError) => {
      context.note(rpcFault(fault));
      return rpcErrorResponse(null, fault);
    };
    if (body === undefined) return refuse(new RpcError(rpcErrors.parseError, 'Parse error: the body is empty'));
    if (!Array.isArray(body)) return answerMessage(body, context);
    if (body.length === 0) return refuse(invalid('a batch must have at least one message'));
    if (body.length > maxBatch) return refuse(invalid(`a batch holds at most ${maxBatch} messages`));
    // The header contains one key for the whole batch, so each call gets its own key, derived from it.
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
      return answer === undefined ? { status: 202 } : { status: statusOf([answer].flat()), body: answer };
    },
  };
}

/** 401 if any request needs a token, 429 if a rate limit stopped all of them, else 200. */
function statusOf(answers: readonly RpcResponse[]): number {
  const codes = answers.map((answer) => ('error' in answer ? answer.error.code : undefined));
  if (codes.includes(rpcErrors.unauthorized)) return 401;
  return codes.every((code) => code === rpcErrors.rateLimited) ? 429 : 200;
}
