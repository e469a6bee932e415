import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { developmentPolicy } from '../shared/domain/qualification.ts';
import { issueResponse, type TsaProfile } from '../shared/rfc3161/index.ts';
import type { Logger } from '../shared/runtime/log.ts';
import { randomSerial } from '../shared/runtime/random-octets.ts';
import type { Clock } from '../shared/runtime/timers.ts';
import type { Pki } from './pki.ts';

export const QUERY_TYPE = 'application/timestamp-query';
export const REPLY_TYPE = 'application/timestamp-reply';

const MAX_QUERY_OCTETS = 64 * 1024;

export interface TsaServerOptions {
  pki: Pki;
  clock: Clock;
  /** Replaces parts of the development TSA's usual profile. */
  profile?: Partial<TsaProfile>;
  /** Answers each query instead of the TSA. `issue` sends the TSA's own answer. */
  answer?: (exchange: TsaExchange, issue: () => void) => void;
  log?: Logger;
}

/** A query that was read, and the response to it. */
export interface TsaExchange {
  readonly request: IncomingMessage;
  /** DER of the TimeStampReq. */
  readonly query: Buffer;
  readonly response: ServerResponse;
  readonly profile: TsaProfile;
}

export interface TsaServer {
  /** Listens; `port` 0 means any free port. Resolves to the base URL, for example `http://127.0.0.1:41234`. */
  listen(host?: string, port?: number): Promise<string>;
  /** Stops listening and closes every connection, also those that wait for an answer. */
  close(): Promise<void>;
}

/** The development TSA: RFC 3161 over HTTP (§3.4) with real cryptography, and a given clock. Not for production. */
export function createTsaServer(options: TsaServerOptions): TsaServer {
  const profile: TsaProfile = {
    identity: options.pki.signer,
    policies: [developmentPolicy],
    accuracy: { seconds: 1 },
    ...options.profile,
  };

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
    const issue = () => {
      const der = issueResponse(profile, body, { timeMs: options.clock(), serial: randomSerial() });
      options.log?.info({ queryOctets: body.length, replyOctets: der.length }, 'answered');
      send(response, 200, REPLY_TYPE, der);
    };
    if (options.answer === undefined) issue();
    else options.answer({ request, query: body, response, profile }, issue);
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
