import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { rpcRequests, rpcResponse, rpcResponses } from '../../shared/contract/mcp.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { keepConnection, stampBodyLimit } from '../server/body-reader.ts';
import type { ServerContext } from '../server/context.ts';
import { statusOf } from '../server/error-status.ts';
import { toServiceError } from '../server/errors.ts';
import { MalformedJsonError } from '../server/json-text.ts';
import { empty, json, type OperationContract } from '../server/operation.ts';
import { createForeignOrigins } from '../server/origin.ts';
import { type Fault, faultOf, noteFault } from '../server/outcome.ts';
import { addressKey } from '../server/rate-limits.ts';
import { createCallGuards } from './call-guards.ts';
import { createToolCaller } from './call-tool.ts';
import { errorResponse, RpcError, rpcErrors, rpcFault } from './json-rpc.ts';
import { createFirstRevision } from './revisions/2024-11-05.ts';
import { createModernRevision, isModern } from './revisions/2026-07-28.ts';
import { createStampContentTool, createStampHashTool, createVerifyTokenTool } from './tools/stamp.ts';
import { createStoryTools, type ToolServices } from './tools/story.ts';

/** The maximum size of a body from a caller without a service token. Tools that need no token need only small bodies. */
const maxBytesWithoutToken = 64 * 1024;

/**
 * `POST /mcp`: the Model Context Protocol over plain HTTP POST, in two revisions (M11). No state is kept between requests, and every answer is JSON.
 * These requests are refused without reading the body: from a page of a foreign origin (403), with a body that is too large (413) or not declared as
 * JSON (415).
 */
export function registerMcp(app: FastifyInstance, context: ServerContext & ToolServices): void {
  const { config, identifyProduct, requireProduct, mistakes, sealedMaxBytes } = context;
  const isForeign = createForeignOrigins(app, config.PUBLIC_BASE_URL, [...config.MCP_ORIGINS, ...config.CORS_ORIGINS]);
  const guardsOf = createCallGuards(context);
  const ofContract = [createStampHashTool(context), createStampContentTool(context), createVerifyTokenTool(context)];
  const tools = [...ofContract, ...createStoryTools(context)];
  const callTool = createToolCaller(tools);
  const [first, modern] = [createFirstRevision(tools, callTool), createModernRevision(tools, callTool)];

  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isForeign(request)) throw new ServiceError('forbidden', 'Pages of this origin may not use this address.');
    if (Number(request.headers['content-length'] ?? 0) > maxBytesWithoutToken) await requireProduct(request, reply);
  };
  const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest, errorHandler: answerUnread, config: { contract } };
  app.post('/mcp', options, async (request, reply) => {
    const product = identifyProduct(request);
    const { 'idempotency-key': headerKey } = request.headers;
    const call = {
      product,
      hasWrongToken: product === undefined && request.headers['x-service-token'] !== undefined,
      agent: `agent:${addressKey(request)}`,
      requestId: request.id,
      headerKey: typeof headerKey === 'string' ? headerKey : undefined,
      guards: guardsOf(request, reply, product),
      onReplayed: () => void reply.header('Idempotent-Replayed', 'true'),
      note: (fault: Fault) => noteFault(request, fault),
    };
    const asked = { body: request.body, headers: request.headers };
    const { status, body } = await (isModern(asked) ? modern : first).answer(asked, call);
    if (status === 401) await mistakes.wrongToken(request, reply);
    if (body === undefined) return reply.code(status).send();
    return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
  });
}

/** Only for documentation: the JSON-RPC code checks the body. */
const contract: OperationContract = {
  tag: 'MCP',
  id: 'callMcp',
  summary: 'JSON-RPC 2.0 for assistants (Model Context Protocol 2024-11-05 and 2026-07-28)',
  description:
    'Methods `initialize`, `ping`, `tools/list` and `tools/call`; only `tools/call` needs the header X-Service-Token, for some tools. ' +
    'Faults of the protocol are JSON-RPC errors with status 200. A batch is an array of messages. A request that names 2026-07-28 in `_meta` gets ' +
    'an answer in that revision: `server/discover`, `tools/list`, `tools/call`, and faults with their own status.',
  authentication: 'service',
  isTokenOptional: true,
  body: rpcRequests,
  isJudgedElsewhere: true,
  bodyExample: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  answers: {
    200: json('The answer, or the answers to a batch in its order.', rpcResponses),
    202: empty('The body had only notifications.'),
    400: json('2026-07-28: `_meta` or a header is missing or does not match, or the version is unknown.', rpcResponse),
    401: json('`tools/call` without a valid service token: error −32000.', rpcResponses),
    403: json('The request comes from a page of an origin that is not allowed.', rpcResponse),
    404: json('2026-07-28: there is no such method.', rpcResponse),
    413: json('The body is too large.', rpcResponse),
    415: json('The body is not JSON.', rpcResponse),
    429: json('Too many requests from this address without a valid service token.', rpcResponse, { 'Retry-After': 'Seconds.' }),
  },
};

/** Refusals with these statuses keep them as HTTP status; other failures are answered with 200. */
const refusalStatuses = [400, 403, 408, 413, 415, 429];

/** Answers a request whose body was not read, or is not JSON. There is no message, so the answer's id is null (JSON-RPC 2.0 §5). */
function answerUnread(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  keepConnection(error, request, reply);
  const refuse = (status: number, fault: RpcError) => reply.code(status).send(errorResponse(null, fault));
  if (error instanceof MalformedJsonError) {
    const fault = new RpcError(rpcErrors.parseError, `Parse error: ${error.detail[0]?.ctx?.error}`);
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
