import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { developmentPolicy } from '../shared/domain/qualification.ts';
import { issueResponse, type TsaProfile } from '../shared/rfc3161/index.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Logger } from '../shared/runtime/log.ts';
import { randomSerial } from '../shared/runtime/random-octets.ts';
import { createFault, type Fault, REPLY_TYPE } from './faults.ts';
import type { Pki } from './pki.ts';
import { issueResponseWith } from './seams.ts';

export const QUERY_TYPE = 'application/timestamp-query';

const MAX_QUERY_OCTETS = 64 * 1024;

export interface TsaServerOptions {
  pki: Pki;
  clock: Clock;
  /** Replaces parts of the development TSA's usual profile. */
  profile?: Partial<TsaProfile>;
  /** Whether `?fault=name[:argument]` in the URL makes the TSA fail, so that a providers file can contain a failing TSA. */
  faultsInAddress?: boolean;
  /**
   * The number of last requests that `received` keeps; default 1 000. With 0 the TSA is faster: a kept request costs the garbage collector more time
   * than the answer takes.
   */
  keptRequests?: number;
  log?: Logger;
}

/** A received request, for tests that check a client. */
export interface ReceivedQuery {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface TsaServer {
  /** Listens; `port` 0 means any free port. Resolves to the base URL, for example `http://127.0.0.1:41234`. */
  listen(host?: string, port?: number): Promise<string>;
  /** Each of the next requests gets one of these faults, in this order. */
  failNext(...faults: readonly Fault[]): void;
  /** Every request gets this fault. Undefined ends this. */
  failAlways(fault: Fault | undefined): void;
  /** The last received requests, oldest first. */
  readonly received: readonly ReceivedQuery[];
  /** Stops listening and closes every connection, also those that wait for an answer. */
  close(): Promise<void>;
}

/** The development TSA: RFC 3161 over HTTP (§3.4) with real cryptography, a given clock, and faults on demand. Not for production. */
export function createTsaServer(options: TsaServerOptions): TsaServer {
  const profile: TsaProfile = {
    identity: options.pki.signer,
    policies: [developmentPolicy],
    accuracy: { seconds: 1 },
    ...options.profile,
  };
  const { keptRequests = 1_000 } = options;
  const queue: Fault[] = [];
  let always: Fault | undefined;
  const received: ReceivedQuery[] = [];

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      options.log?.error({ err: error }, 'a request could not be answered');
      if (response.headersSent) response.destroy();
      else send(response, 500, 'text/plain', 'The time-stamp could not be made.\n');
    });
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return send(response, 405, 'text/plain', 'Send time-stamp queries with POST.\n', { allow: 'POST' });
    if (mediaType(request.headers['content-type']) !== QUERY_TYPE) {
      return send(response, 415, 'text/plain', `The content type of a query must be ${QUERY_TYPE}.\n`);
    }
    const body = await readBody(request);
    if (body === undefined) return send(response, 413, 'text/plain', 'The query is too large.\n', { connection: 'close' });
    if (keptRequests > 0) received.push({ method: request.method, url: request.url ?? '/', headers: request.headers, body });
    if (received.length > keptRequests) received.shift();

    let fault: Fault | undefined;
    try {
      fault = queue.shift() ?? faultOfAddress(request.url) ?? always;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return send(response, 400, 'text/plain', `${error.message}\n`);
    }
    const der = await respond(body, fault);
    options.log?.info({ fault: fault?.name, queryOctets: body.length, replyOctets: der.length }, 'answered');
    const sendAnswer = () => send(response, 200, REPLY_TYPE, der);
    if (fault?.send === undefined) return sendAnswer();
    fault.send({ response, answer: der, sendAnswer, later: (delayMs, step) => later(response, delayMs, step) });
  };

  const faultOfAddress = (url = '/'): Fault | undefined => {
    if (!options.faultsInAddress || !url.includes('?')) return undefined;
    const name = new URL(url, 'http://tsa.invalid').searchParams.get('fault');
    return name === null ? undefined : createFault(name);
  };

  const respond = (query: Buffer, fault: Fault | undefined): Buffer => {
    const nowMs = options.clock();
    const identity = fault?.identity?.(options.pki, nowMs) ?? profile.identity;
    const moment = { timeMs: nowMs + (fault?.shiftMs ?? 0), serial: randomSerial() };
    const signing = { ...profile, identity };
    const der = fault?.seams === undefined ? issueResponse(signing, query, moment) : issueResponseWith(fault.seams, signing, query, moment);
    return fault?.bend?.(der) ?? der;
  };

  return {
    listen: (host = '127.0.0.1', port = 0) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve(addressOf(server.address()));
        });
      }),
    failNext: (...faults) => void queue.push(...faults),
    failAlways: (fault) => {
      always = fault;
    },
    received,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

function addressOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';')[0]?.trim().toLowerCase();
}

/** Reads the body of a request. Returns undefined if it is too large for a query. */
const readBody = (request: IncomingMessage): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let octets = 0;
    request.on('data', (chunk: Buffer) => {
      octets += chunk.length;
      if (octets > MAX_QUERY_OCTETS) resolve(undefined);
      else chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });

function send(response: ServerResponse, status: number, type: string, body: Buffer | string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers }).end(body);
}

function later(response: ServerResponse, delayMs: number, step: () => void): void {
  const timer = setTimeout(() => {
    response.off('close', cancel);
    step();
  }, delayMs);
  const cancel = () => clearTimeout(timer);
  response.once('close', cancel);
}
