import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, ServiceError } from '../../shared/domain/service-error.ts';
import { addressKey } from './rate-limits.ts';
import { createSampledLog } from './request-log.ts';

/** The answers for some of Node's errors about bytes that are not a valid request. For all others it is 400. Without `detail` it is the name of the status. */
const faults: Readonly<Record<string, { readonly status: number; readonly detail?: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431 },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408 },
  HPE_INVALID_EOF_STATE: { status: 400, detail: 'The connection ended before the request was complete. Nothing was done.' },
};

/** Creates the handler that answers bytes that are not a valid request. If many have the same status, only some are logged. */
function createFaultAnswer() {
  const sampled = createSampledLog();
  return function answerFault(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { status = 400, detail = `${STATUS_CODES[status]}.` } = faults[error.code ?? ''] ?? {};
    const code: ErrorCode = status === 408 ? 'request_timeout' : 'bad_request';
    sampled(status, (left) => this.log.info({ status, outcome: 'refused', code, fault: error.code, ...left }, 'refused'));
    const body = JSON.stringify({ detail, code, request_id: randomUUID() });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  };
}

/**
 * If the percent-encoding in a path cannot be decoded, each percent sign is encoded again. The path parameter then contains a percent sign, so the
 * answer is 422 instead of 400.
 */
function mendAddress(address: string): string {
  const [path = ''] = address.split('?', 1);
  try {
    decodeURIComponent(path);
    return address;
  } catch {
    return path.replaceAll('%', '%25') + address.slice(path.length);
  }
}

/**
 * Options for `fastify({…})` that apply before any route sees a request. A path parameter may be up to 16 KiB long, so that a parameter that is too
 * long is refused by its own rule (422), not by the router (404). There is no request timeout: the body reader limits the time for a body, and Node
 * limits the time for the head to 60 s.
 */
export const createEdgeServerOptions = () =>
  ({
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: true },
    requestTimeout: 0,
    // Before we read a body, Node buffers this much of it, plus at most one read of 64 KiB.
    http: { highWaterMark: 16 * 1024 },
    clientErrorHandler: createFaultAnswer(),
    rewriteUrl: (request) => mendAddress(request.url ?? '/'),
  }) as const satisfies FastifyHttpOptions<Server>;

/** The maximum number of unanswered requests of one connection. */
const mostUnanswered = 64;
/**
 * The maximum number of requests that begin in one turn of the event loop. libuv accepts one new connection in each turn. A turn does not end before
 * all connections with data were read, perhaps a thousand. Without this limit, new connections would wait for many seconds in a flood of requests.
 */
const mostInATurn = 32;

type PipelinedRequest = readonly [IncomingMessage, ServerResponse];

interface Connection {
  unanswered: number;
  /** Requests that arrived beyond the limit. They begin when earlier requests are answered. */
  waiting: PipelinedRequest[];
}

/**
 * Limits pipelining (RFC 9112 §9.3.2): after 64 unanswered requests nothing more is read from a connection. Requests that still wait when the
 * connection closes do not begin. While nothing is read, only a failed write shows that the client has closed the connection.
 */
export function boundPipelines(server: Server): void {
  const listeners = server.listeners('request') as ((...exchange: PipelinedRequest) => void)[];
  const connections = new Map<Socket, Connection>();
  let nextTurn: PipelinedRequest[] = [];
  let begun = 0;

  function begin(exchange: PipelinedRequest): void {
    if (begun === 0) setImmediate(endTurn);
    begun += 1;
    for (const listener of listeners) listener.apply(server, exchange as [IncomingMessage, ServerResponse]);
  }

  function endTurn(): void {
    begun = 0;
    const waiting = nextTurn;
    nextTurn = [];
    for (const exchange of waiting) beginInTurn(exchange);
  }

  function beginInTurn(exchange: PipelinedRequest): void {
    if (!connections.has(exchange[0].socket)) return;
    if (begun < mostInATurn) begin(exchange);
    else nextTurn.push(exchange);
  }

  /** Begins as many requests of a connection as may be unanswered. */
  function admitWaiting(socket: Socket, connection: Connection): void {
    while (connection.unanswered < mostUnanswered && connections.has(socket)) {
      const next = connection.waiting.shift();
      if (next === undefined) break;
      connection.unanswered += 1;
      next[1].once('close', () => {
        connection.unanswered -= 1;
        if (connection.waiting.length === 0) return;
        admitWaiting(socket, connection);
        if (connection.waiting.length === 0) socket.resume();
      });
      beginInTurn(next);
    }
  }

  server.on('connection', (socket) => {
    const connection: Connection = { unanswered: 0, waiting: [] };
    connections.set(socket, connection);
    // Node resumes a socket after each complete request, so it is paused again while requests wait.
    socket.on('resume', () => connection.waiting.length > 0 && socket.pause());
    socket.once('close', () => connections.delete(socket));
  });
  server.removeAllListeners('request');
  server.on('request', (...exchange) => {
    const { socket } = exchange[0];
    const connection = connections.get(socket);
    if (!connection) return;
    connection.waiting.push(exchange);
    admitWaiting(socket, connection);
    if (connection.waiting.length > 0) socket.pause();
  });
}

const mostAtOnce = 64;
const mostForOneAddress = 8;
/**
 * An answer is aborted after this time without progress. The client must read about 40 KiB in it, because Linux accepts more data only when a third
 * of its buffer is free.
 */
const mostIdleMs = 30_000;

export type LargeAnswers = ReturnType<typeof createLargeAnswers>;

/** Limits how many large answers a process sends at once: sealed content, evidence bundles, and bulk answers with more than a hundred items. */
export function createLargeAnswers() {
  const ofAddress = new Map<string, number>();
  let underWay = 0;
  const count = (address: string, change: 1 | -1) => {
    const own = (ofAddress.get(address) ?? 0) + change;
    if (own === 0) ofAddress.delete(address);
    else ofAddress.set(address, own);
    underWay += change;
  };
  return {
    /**
     * Counts this answer until it is sent, and aborts it if its client reads nothing for 30 s.
     *
     * @throws ServiceError `overloaded` if there are 64 already, or 8 for this address; `bad_request` if the client has left
     */
    begin(request: FastifyRequest, reply: FastifyReply): void {
      const address = addressKey(request);
      if (reply.raw.destroyed) throw new ServiceError('bad_request', 'The client left before its answer was made.');
      if (underWay >= mostAtOnce || (ofAddress.get(address) ?? 0) >= mostForOneAddress) {
        throw new ServiceError('overloaded', 'Too many large answers are under way; try again later.', { retryAfterSeconds: 2 });
      }
      count(address, 1);
      reply.raw.once('close', () => count(address, -1));
      reply.raw.setTimeout(mostIdleMs, () => {
        const { socket } = request.raw;
        // If no data waits to be sent, the answer is still being made.
        if (socket.writableLength === 0) return;
        request.log.info('aborted the answer: the client reads too slowly');
        // A reset also drops the data that the operating system has buffered.
        socket.resetAndDestroy();
      });
    },
  };
}
