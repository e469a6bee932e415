import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { rpcRequests, rpcResponse, rpcResponses } from '../../shared/contract/mcp.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { statusOf } from '../http/error-status.ts';
import { toServiceError } from '../http/errors.ts';
import { MalformedJsonError } from '../http/json-text.ts';
import type { Mistakes } from '../http/mistakes.ts';
import type { IsForeign } from '../http/origin.ts';
import { type Fault, faultOf, noteFault } from '../http/outcome.ts';
import type { IdentifyProduct, RequireProduct } from '../http/service-token.ts';
import { empty, json, type OperationContract } from '../openapi/operation.ts';
import { stampBodyLimit } from '../routes/stamping.ts';
import type { Stamping } from '../services/stamping.ts';
import type { Verification } from '../services/verification.ts';
import { errorResponse, idOf, RpcError, type RpcResponse, readMessage, resultResponse, rpcErrors, rpcFault } from './json-rpc.ts';
import { createMcpMethods, type RpcContext, type RpcMethods, runMethod } from './revisions/2024-11-05.ts';
import { createStampContentTool } from './tools/stamp-content.ts';
import { createStampHashTool } from './tools/stamp-hash.ts';
import { createVerifyTokenTool } from './tools/verify-token.ts';

/** What works without a token needs only small bodies; a larger one is read only from callers with a token. */
const maxBytesWithoutToken = 64 * 1024;

/** The most messages of one batch: a small body must not ask for a huge answer. */
const maxBatch = 100;

/**
 * `POST /mcp`: the Model Context Protocol over plain HTTP POST. Nothing is kept between requests, every answer is JSON, and
 * faults of the protocol are JSON-RPC errors at HTTP 200; only a missing token is 401, a page of a foreign origin 403, a body too
 * large 413 and a body that is not declared as JSON 415 (M7, M9, E8). `Accept` and `MCP-Protocol-Version` change nothing.
 */
export function registerMcp(
  app: FastifyInstance,
  deps: {
    identifyProduct: IdentifyProduct;
    requireProduct: RequireProduct;
    mistakes: Pick<Mistakes, 'wrongToken'>;
    isForeign: IsForeign;
    stamping: Stamping;
    verification: Pick<Verification, 'byId' | 'raw'>;
    sealedMaxBytes: number;
  },
): void {
  const { identifyProduct, requireProduct, mistakes, isForeign, sealedMaxBytes } = deps;
  const methods = createMcpMethods([createStampHashTool(deps), createStampContentTool(deps), createVerifyTokenTool(deps)]);

  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isForeign(request)) throw new ServiceError('forbidden', 'Pages of this origin may not use this address.');
    if (Number(request.headers['content-length'] ?? 0) > maxBytesWithoutToken) await requireProduct(request, reply);
  };
  const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest, errorHandler: answerUnread, config: { contract } };
  app.post('/mcp', options, async (request, reply) => {
    const onReplayed = () => void reply.header('Idempotent-Replayed', 'true');
    const context = {
      product: identifyProduct(request),
      requestId: request.id,
      onReplayed,
      note: (fault: Fault) => noteFault(request, fault),
    };
    const answer = await answerBody(methods, request.body, context);
    if (answer === undefined) return reply.code(202).send();
    if (!needsToken(answer)) return reply.send(answer);
    await mistakes.wrongToken(request, reply);
    return reply.code(401).send(answer);
  });
}

/** Documentation only: what a body may be is judged by JSON-RPC itself. */
const contract: OperationContract = {
  tag: 'MCP',
  id: 'callMcp',
  summary: 'JSON-RPC 2.0 for assistants (Model Context Protocol 2024-11-05)',
  description:
    'Methods `initialize`, `ping`, `tools/list` and `tools/call`; only `tools/call` needs the header X-Service-Token. ' +
    'Faults of the protocol are JSON-RPC errors at status 200. A batch is an array of messages.',
  authentication: 'service',
  isTokenOptional: true,
  body: rpcRequests,
  isJudgedElsewhere: true,
  bodyExample: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  answers: {
    200: json('The answer, or those of a batch in its order.', rpcResponses),
    202: empty('Nothing but notifications.'),
    401: json('`tools/call` without a valid service token: error −32000.', rpcResponses),
    403: json('The request comes from a page of an origin that is not allowed.', rpcResponse),
    413: json('The body is too large.', rpcResponse),
    415: json('The body is not JSON.', rpcResponse),
    429: json('Too many requests of this address without a valid service token.', rpcResponse, { 'Retry-After': 'Seconds.' }),
  },
};

type Answer = RpcResponse | readonly RpcResponse[] | undefined;

const invalid = (why: string) => new RpcError(rpcErrors.invalidRequest, `Invalid Request: ${why}`);

/** The answer to a whole body: one message or a batch of them (JSON-RPC 2.0 §6), whose answers come in the order of its requests. */
async function answerBody(methods: RpcMethods, body: unknown, context: RpcContext): Promise<Answer> {
  const refuse = (fault: RpcError) => {
    context.note(rpcFault(fault));
    return errorResponse(null, fault);
  };
  if (body === undefined) return refuse(new RpcError(rpcErrors.parseError, 'Parse error: the body is empty'));
  if (!Array.isArray(body)) return answerMessage(methods, body, context);
  if (body.length === 0) return refuse(invalid('a batch holds at least one message'));
  if (body.length > maxBatch) return refuse(invalid(`a batch holds at most ${maxBatch} messages`));
  const answers = await Promise.all(body.map((message: unknown) => answerMessage(methods, message, context)));
  const responses = answers.filter((answer) => answer !== undefined);
  return responses.length > 0 ? responses : undefined;
}

/** Undefined for a notification: none of those that we know asks for anything, and a call without an id is not run (M7). */
async function answerMessage(methods: RpcMethods, value: unknown, context: RpcContext): Promise<RpcResponse | undefined> {
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

function needsToken(answer: RpcResponse | readonly RpcResponse[]): boolean {
  return [answer].flat().some((response) => 'error' in response && response.error.code === rpcErrors.unauthorized);
}

/** Refusals of HTTP, told by its status too. */
const refusalStatuses = [400, 403, 408, 413, 415, 429];

/** A body that could not be read: no message, so no id (JSON-RPC 2.0 §5). */
function answerUnread(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (request.raw.complete) reply.removeHeader('connection');
  const refuse = (status: number, fault: RpcError) => reply.code(status).send(errorResponse(null, fault));
  if (error instanceof MalformedJsonError) {
    const { loc, ctx } = error.detail[0] ?? {};
    const fault = new RpcError(rpcErrors.parseError, `Parse error: ${ctx?.error} at character ${loc?.[1]}`);
    noteFault(request, rpcFault(fault));
    return refuse(200, fault);
  }
  const told = toServiceError(error);
  const { code, message, retryAfterSeconds } = told;
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds));
  noteFault(request, faultOf(told));
  const data = { code, request_id: request.id };
  if (code === 'unauthorized') return refuse(401, new RpcError(rpcErrors.unauthorized, message, data));
  const status = refusalStatuses.find((known) => known === statusOf[code]);
  if (status !== undefined) return refuse(status, new RpcError(rpcErrors.invalidRequest, message, data));
  return refuse(200, new RpcError(rpcErrors.internalError, code === 'internal_error' ? 'Internal error' : message, data));
}
