import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { issueResponse, type TsaProfile } from '../shared/rfc3161/index.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Logger } from '../shared/runtime/log.ts';
import { randomSerial } from '../shared/runtime/random-octets.ts';
import { createFault, type Fault, REPLY_TYPE } from './faults.ts';
import type { Pki } from './pki.ts';
import { issueResponseWith } from './seams.ts';

export const QUERY_TYPE = 'application/timestamp-query';

/** The policy of tokens from the development TSA. Its OID is from the arc for documentation and examples, so it promises nothing. */
export const DEVELOPMENT_POLICY = '2.999.3161.1';

const MAX_QUERY_OCTETS = 64 * 1024;

export interface TsaServerOptions {
  pki: Pki;
  clock: Clock;
  /** Changes to the development TSA's own profile. */
  profile?: Partial<TsaProfile>;
  /** Obeys `?fault=name[:argument]` in the address, so that a providers file can point to a failing TSA. */
  faultsInAddress?: boolean;
  /** How many of the last requests `received` keeps. Default: 1 000. Each costs the garbage collector more than the answer. */
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
  /** `port` 0 means any free port. Resolves to the base address, e.g. `http://127.0.0.1:41234`. */
  listen(host?: string, port?: number): Promise<string>;
  /** The next requests get these faults, one per request, in this order. */
  failNext(...faults: readonly Fault[]): void;
  /** Every request gets this fault; undefined ends that. */
  failAlways(fault: Fault | undefined): void;
  /** The last received requests, oldest first. */
  readonly received: readonly ReceivedQuery[];
  /** Ends every connection, including hanging ones. */
  close(): Promise<void>;
}

/** The development TSA: RFC 3161 over HTTP (§3.4) with real cryptography, a given clock, and faults on demand. Not for production. */
export function createTsaServer(options: TsaServerOptions): TsaServer {
  const profile: TsaProfile = {
    identity: options.pki.signer,
    policies: [DEVELOPMENT_POLICY],
    accuracy: { seconds: 1 },
    ...options.profile,
  };
  const { keptRequests = 1_000 } = options;
  const queue: Fault[] = [];
  let always: Fault | undefined;
  const received: ReceivedQuery[] = [];

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      options.log?.error({ err: error }, 'could not answer');
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

/** Undefined if the body is too large for a query. */
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
