import { callTool, type McpRequest, productOf } from '../call-tool.ts';
import {
  answerFailure,
  clip,
  isObject,
  type McpAnswer,
  RpcError,
  type RpcMessage,
  type RpcResponse,
  readMessage,
  resultResponse,
  rpcErrors,
} from '../json-rpc.ts';

/** Every client gets this version, even if it offers another. */
const protocolVersion = '2024-11-05';
const serverInfo = { name: 'qstamp', version: '0.1.0' };

/** The maximum number of messages in one batch: a small body must not cause a huge answer. */
const maxBatch = 100;

/**
 * The revision of the published interface (M1). Faults of the protocol are JSON-RPC errors with HTTP 200; only a missing token is 401, and a rate
 * limit 429. The header `MCP-Protocol-Version` is ignored. It answers every body that does not belong to a later revision, even a body that is not
 * JSON-RPC. It never rejects.
 */
export async function answerFirst(request: McpRequest): Promise<McpAnswer> {
  const body = await answerBody(request);
  return body === undefined ? { status: 202 } : { status: statusOf([body].flat()), body };
}

/**
 * Answers a whole body: one message or a batch (JSON-RPC 2.0 §6). The answers to a batch are in the order of its requests. Returns undefined if
 * there are only notifications.
 */
async function answerBody(request: McpRequest): Promise<RpcResponse | readonly RpcResponse[] | undefined> {
  const { body, headerKey } = request;
  const refuse = (fault: RpcError) => answerFailure(null, fault, request);
  if (body === undefined) return refuse(new RpcError(rpcErrors.parseError, 'Parse error: the body is empty'));
  if (!Array.isArray(body)) return answerMessage(body, request);
  if (body.length === 0) return refuse(invalid('a batch must have at least one message'));
  if (body.length > maxBatch) return refuse(invalid(`a batch holds at most ${maxBatch} messages`));
  // The header contains one key for the whole batch, so each call gets its own key, derived from it.
  const keyAt = (index: number) => (headerKey === undefined ? undefined : `${headerKey}:${index}`);
  const answers = await Promise.all(body.map((message: unknown, index) => answerMessage(message, { ...request, headerKey: keyAt(index) })));
  const responses = answers.filter((answer) => answer !== undefined);
  return responses.length > 0 ? responses : undefined;
}

const invalid = (why: string) => new RpcError(rpcErrors.invalidRequest, `Invalid Request: ${why}`);

/** Answers one message. Returns undefined for a notification, which is never run: the known notifications need no work. A call needs its token. */
async function answerMessage(value: unknown, request: McpRequest): Promise<RpcResponse | undefined> {
  try {
    const message = readMessage(value);
    if (message.id !== undefined) return resultResponse(message.id, await runMethod(message, request));
    if (message.method === 'tools/call') productOf(request);
    return undefined;
  } catch (error) {
    return answerFailure(value, error, request);
  }
}

/** The methods of this revision, in which clients begin with `initialize`. */
const methods = new Map<string, (params: unknown, request: McpRequest) => object | Promise<object>>([
  ['initialize', () => ({ protocolVersion, capabilities: { tools: {} }, serverInfo })],
  ['notifications/initialized', () => ({})],
  ['ping', () => ({})],
  ['tools/list', (_params, { offered }) => ({ tools: offered.map(({ definition }) => definition) })],
  ['tools/call', async (params, request) => (await callTool(params, request)).result],
]);

/**
 * The result of one request.
 *
 * @throws RpcError −32601 for an unknown method, −32602 if the params are not an object; every error that the method throws
 */
async function runMethod({ method, params }: RpcMessage, request: McpRequest): Promise<object> {
  const run = methods.get(method);
  if (!run) throw new RpcError(rpcErrors.methodNotFound, `Method not found: ${clip(method)}`);
  if (params !== undefined && !isObject(params)) throw new RpcError(rpcErrors.invalidParams, 'Invalid params: give them by name');
  return run(params, request);
}

/** 401 if any request needs a token, 429 if a rate limit stopped all of them, else 200. */
function statusOf(answers: readonly RpcResponse[]): number {
  const codes = answers.map((answer) => ('error' in answer ? answer.error.code : undefined));
  if (codes.includes(rpcErrors.unauthorized)) return 401;
  return codes.every((code) => code === rpcErrors.rateLimited) ? 429 : 200;
}
