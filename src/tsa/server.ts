import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { developmentPolicy } from '../shared/domain/qualification.ts';
import type { TsaProfile } from '../shared/rfc3161/index.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Pki } from './pki.ts';

export const QUERY_TYPE = 'application/timestamp-query';
export const REPLY_TYPE = 'application/timestamp-reply';

const MAX_QUERY_OCTETS = 64 * 1024;

export const profileOf = ({ signer }: Pki): TsaProfile => ({
  identity: signer,
  policies: [developmentPolicy],
  accuracy: { seconds: 1 },
});

export interface TsaServer {
  /** Listens; `port` 0 means any free port. Resolves to the base URL, for example `http://127.0.0.1:41234`. */
  listen(host?: string, port?: number): Promise<string>;
  /** Stops listening and closes every connection, also those that wait for an answer. */
  close(): Promise<void>;
}

/** An HTTP server for RFC 3161 (§3.4). Not for production. `answer` answers one query, the DER of a TimeStampReq. */
export function createTsaServer(
  answer: (query: Buffer, response: ServerResponse, request: IncomingMessage) => void,
  log?: Logger,
): TsaServer {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return send(response, 405, 'text/plain', 'Send time-stamp queries with POST.\n', { allow: 'POST' });
    if (request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== QUERY_TYPE) {
      return send(response, 415, 'text/plain', `The content type of a query must be ${QUERY_TYPE}.\n`);
    }
    const body = await readBody(request);
    if (body === undefined) return send(response, 413, 'text/plain', 'The query is too large.\n', { connection: 'close' });
    answer(body, response, request);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      log?.error({ err: error }, 'a request could not be answered');
      if (response.headersSent) response.destroy();
      else send(response, 500, 'text/plain', 'The time-stamp could not be made.\n');
    });
  });
  return {
    listen: (host = '127.0.0.1', port = 0) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          const { family, address, port: chosen } = server.address() as AddressInfo;
          resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}`);
        });
      }),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
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

export function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: Buffer | string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers }).end(body);
}
