import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyHttpOptions, FastifyInstance } from 'fastify';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import { createSampledLog } from './sampled-log.ts';

/** The status of the answer for some of Node's errors about bytes that are not a valid request. For all others it is 400. */
const statusOfFault: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** The message of the answer for some of these errors. For all others it is the name of the status. */
const detailOfFault: Readonly<Record<string, string>> = {
  HPE_INVALID_EOF_STATE: 'The connection ended before the request was complete. Nothing was done.',
};

/** Creates the handler that answers bytes that are not a valid request. If many have the same status, only some are logged. */
function createFaultAnswer() {
  const sampled = createSampledLog();
  return function answerFault(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = statusOfFault[error.code ?? ''] ?? 400;
    const code: ErrorCode = status === 408 ? 'request_timeout' : 'bad_request';
    sampled(status, (left) => this.log.info({ status, outcome: 'refused', code, fault: error.code, ...left }, 'refused'));
    const body = JSON.stringify({ detail: detailOfFault[error.code ?? ''] ?? `${STATUS_CODES[status]}.`, code, request_id: randomUUID() });
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
    routerOptions: { maxParamLength: 16 * 1024 },
    requestTimeout: 0,
    // Before we read a body, Node buffers this much of it, plus at most one read of 64 KiB.
    http: { highWaterMark: 16 * 1024 },
    clientErrorHandler: createFaultAnswer(),
    rewriteUrl: (request) => mendAddress(request.url ?? '/'),
  }) as const satisfies FastifyHttpOptions<Server>;
