import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyHttpOptions, FastifyInstance } from 'fastify';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import { createSampledLog } from './sampled-log.ts';

/** Node's errors of a request that never became one, and the status that each is answered with. */
const statusOfFault: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Where more can be said than the name of the status. */
const detailOfFault: Readonly<Record<string, string>> = {
  HPE_INVALID_EOF_STATE: 'The connection ended before the request was whole: nothing was made of it.',
};

/** Answers such requests, and logs some of those with the same status. */
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

/** An address whose escapes cannot be decoded gets a parameter with a percent sign in it, so that it is answered 422 and not 400. */
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
 * How a server meets requests before any route sees them: to be spread into `fastify({…})`. A parameter may be as long as a
 * header, so that its own rule refuses it (422) and not the router (404). The reader of bodies knows how long each may take; a head has the 60 s
 * of Node.
 */
export const createEdgeServerOptions = () =>
  ({
    routerOptions: { maxParamLength: 16 * 1024 },
    requestTimeout: 0,
    // What Node reads ahead of us, of each body: at most one read of 64 KiB beyond this.
    http: { highWaterMark: 16 * 1024 },
    clientErrorHandler: createFaultAnswer(),
    rewriteUrl: (request) => mendAddress(request.url ?? '/'),
  }) as const satisfies FastifyHttpOptions<Server>;
