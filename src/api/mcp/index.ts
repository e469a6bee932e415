import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { rpcAnswer, rpcRequests, rpcResponse, rpcResponses } from '../../shared/contract/mcp.ts';
import { ServiceError, statusOf } from '../../shared/domain/service-error.ts';
import { keepConnection, stampBodyLimit } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { faultOf, noteFault, toServiceError } from '../http/errors.ts';
import { createForeignOrigins } from '../http/headers.ts';
import { MalformedJsonError } from '../http/json-body.ts';
import { empty, json, type OperationContract } from '../http/operation.ts';
import { callerIdOf } from '../http/rate-limits.ts';
import { OtherBody } from '../http/validation.ts';
import { createMailLimits, type WorkflowTools } from '../workflows/index.ts';
import type { McpRequest } from './call-tool.ts';
import {
  type McpAnswer,
  RpcError,
  type RpcResponse,
  rateLimitError,
  retryAfterOf,
  rpcErrorResponse,
  rpcErrors,
  rpcFault,
} from './json-rpc.ts';
import { answerFirst } from './revisions/2024-11-05.ts';
import { answerModern, isModern } from './revisions/2026-07-28.ts';
import { stampContentToolOf, stampFilesTool, stampHashTool, verifyTokenTool } from './tools/stamp.ts';
import { guardsOf, linksUnder } from './tools/tool.ts';
import { verifyFileTool } from './tools/verify-file-hash.ts';
import { workflowTools } from './tools/workflow.ts';

/** The maximum size of a body from a caller without a service token. Only tools need larger bodies, and every tool needs a token. */
const maxBytesWithoutToken = 64 * 1024;

/**
 * `POST /mcp`: the Model Context Protocol over plain HTTP POST, in two revisions (M11). No state is kept between requests, and every answer is JSON.
 * These requests are refused without reading the body: from a page of a foreign origin (403), and with a body that is too large (413).
 */
export function registerMcp(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { config, identifyProduct, requireProduct, mistakes, sealedMaxBytes, baseUrl } = context;
  const isForeign = createForeignOrigins(app, config.PUBLIC_BASE_URL, [...config.MCP_ORIGINS, ...config.CORS_ORIGINS]);
  const mailLimits = createMailLimits(context, tools);
  /** The three tools of the published interface, and then the others in the order in which an assistant needs them (M13). */
  const offered = [stampHashTool, stampContentToolOf(sealedMaxBytes), verifyTokenTool, stampFilesTool, ...workflowTools, verifyFileTool];

  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isForeign(request)) throw new ServiceError('forbidden', 'Pages of this origin may not use this address.');
    if (Number(request.headers['content-length'] ?? 0) > maxBytesWithoutToken) await requireProduct(request, reply);
  };
  /** Counts a missing or wrong token. Beyond the limit, the answer to its request is the limit. */
  const counted = async (request: FastifyRequest, reply: FastifyReply, answer: McpAnswer): Promise<McpAnswer> => {
    try {
      await mistakes.wrongToken(request, reply);
      return answer;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const fault = rateLimitError(error, request.id);
      noteFault(request, rpcFault(fault));
      const limited = (response: RpcResponse) =>
        'error' in response && response.error.code === rpcErrors.unauthorized ? rpcErrorResponse(response.id, fault) : response;
      const { body } = answer;
      return { status: 429, body: Array.isArray(body) ? body.map(limited) : limited(body as RpcResponse) };
    }
  };

  const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest, errorHandler: answerUnread, config: { contract } };
  app.post('/mcp', options, async (request, reply) => {
    if (request.body instanceof OtherBody)
      throw new RpcError(rpcErrors.parseError, `Parse error: the body is not declared as JSON. ${request.body.hint}`);
    const { accept, 'idempotency-key': headerKey } = request.headers;
    const product = identifyProduct(request);
    const url = baseUrl();
    const asked: McpRequest = {
      body: request.body,
      headers: request.headers,
      product,
      callerId: callerIdOf(request, product),
      requestId: request.id,
      headerKey: typeof headerKey === 'string' ? headerKey : undefined,
      guards: guardsOf(context, mailLimits, request, reply),
      offered,
      tools,
      baseUrl: url,
      links: linksUnder(url),
      onReplayed: () => void reply.header('Idempotent-Replayed', 'true'),
      note: (fault) => noteFault(request, fault),
    };
    const answered = await (isModern(asked) ? answerModern(asked) : answerFirst(asked));
    const { status, body = {} } = answered.status === 401 ? await counted(request, reply, answered) : answered;
    // Clients that expect no stream get a body for a notification too, because some of them parse every answer (M7).
    if (status === 202 && eventStream.test(accept ?? '')) return reply.code(202).send();
    if (status === 429) reply.header('Retry-After', String(retryAfterOf(body as RpcResponse | readonly RpcResponse[])));
    return reply
      .code(status === 202 ? 200 : status)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(body));
  });
}

/** The media type that streaming clients name in `Accept`. */
const eventStream = /(?:^|,)\s*text\/event-stream\s*(?:[;,]|$)/i;

/** Only for documentation: the JSON-RPC code checks the body. */
const contract: OperationContract = {
  tag: 'MCP',
  id: 'callMcp',
  summary: 'JSON-RPC 2.0 for assistants (Model Context Protocol 2024-11-05 and 2026-07-28)',
  description:
    'Methods `initialize`, `ping`, `tools/list` and `tools/call`; only `tools/call` needs the header X-Service-Token. ' +
    'Faults of the protocol are JSON-RPC errors with status 200. A batch is an array of messages. A request that names 2026-07-28 in `_meta` gets ' +
    'an answer in that revision: `server/discover`, `tools/list`, `tools/call`, and faults with their own status.',
  authentication: 'service',
  isTokenOptional: true,
  body: rpcRequests,
  isJudgedElsewhere: true,
  bodyExample: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  answers: {
    200: json('The answer, or the answers to a batch in its order; `{}` if the body had only notifications.', rpcAnswer),
    202: empty('The body had only notifications, and `Accept` names `text/event-stream`.'),
    400: json('2026-07-28: `_meta` or a header is missing or does not match, or the version is unknown.', rpcResponse),
    401: json('`tools/call` without a valid service token: error −32000.', rpcResponses),
    403: json('The request comes from a page of an origin that is not allowed.', rpcResponse),
    404: json('2026-07-28: there is no such method.', rpcResponse),
    413: json('The body is too large.', rpcResponse),
    415: json('The body has a content coding.', rpcResponse),
    429: json('A rate limit: error −32029.', rpcResponses, { 'Retry-After': 'Seconds.' }),
  },
};

/** Refusals with these statuses keep them as HTTP status; other failures are answered with 200. */
const refusalStatuses = [400, 403, 408, 413, 415];

/** Answers a request without messages: its body was not read, or is not JSON. So the id of the answer is null (JSON-RPC 2.0 §5). */
function answerUnread(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  keepConnection(error, request, reply);
  const broken =
    error instanceof MalformedJsonError ? new RpcError(rpcErrors.parseError, `Parse error: ${error.detail[0]?.ctx?.error}`) : error;
  if (broken instanceof RpcError) {
    noteFault(request, rpcFault(broken));
    return reply.send(rpcErrorResponse(null, broken));
  }
  const failure = toServiceError(error);
  const { code, message, retryAfterSeconds } = failure;
  noteFault(request, faultOf(failure));
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds));
  const refuse = (status: number, fault: RpcError) => reply.code(status).send(rpcErrorResponse(null, fault));
  if (code === 'rate_limited') return refuse(429, rateLimitError(failure, request.id));
  const data = { code, request_id: request.id };
  if (code === 'unauthorized') return refuse(401, new RpcError(rpcErrors.unauthorized, message, data));
  const status = statusOf[code];
  if (refusalStatuses.includes(status)) return refuse(status, new RpcError(rpcErrors.invalidRequest, message, data));
  return refuse(200, new RpcError(rpcErrors.internalError, code === 'internal_error' ? 'Internal error' : message, data));
}
