import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';

/** A listening app and plain sockets to it, for data that an HTTP client would never send. */
export async function listen(app: FastifyInstance): Promise<{ readonly port: number; open(): Promise<Socket> }> {
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
  return { port, open: () => openTo(`http://127.0.0.1:${port}`) };
}

/** A plain socket to that server. */
export async function openTo(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** The next complete answer on a socket; rejects if the socket ends earlier. */
export async function answerOn(socket: Socket): Promise<RawAnswer> {
  let received = Buffer.alloc(0);
  for (;;) {
    const headEnd = received.indexOf('\r\n\r\n');
    const head = received.subarray(0, Math.max(headEnd, 0)).toString('latin1');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (headEnd >= 0 && received.length >= headEnd + 4 + length) {
      const body = received.subarray(headEnd + 4, headEnd + 4 + length).toString('utf8');
      return { status: Number(head.split(' ')[1]), head, body };
    }
    const [chunk] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [undefined])]);
    if (!(chunk instanceof Buffer)) throw new Error(`the socket ended after ${received.length} bytes`);
    received = Buffer.concat([received, chunk]);
  }
}

/** The head of a POST with these headers. */
export function postHead(path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

export interface ExactAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request with its path, headers and octets exactly as given; `fetch` would normalise them. */
export async function sendExactly(
  { url }: { readonly url: string },
  method: string,
  path: string,
  { headers = {}, payload }: { headers?: Readonly<Record<string, string>>; payload?: string | Buffer | undefined } = {},
): Promise<ExactAnswer> {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, method, path, headers }).end(payload);
  const [answer] = await once(sent, 'response');
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
}
