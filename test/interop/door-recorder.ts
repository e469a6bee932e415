import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A TimeStampResp that went through, and the id of its stamp where one was made. */
export interface Recorded {
  readonly reply: Buffer;
  readonly tokenId: string | undefined;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

/** Stands between clients and the service and keeps what they are answered, which they bury in PDFs, JARs and executables. */
export async function startDoorRecorder(serviceUrl: string): Promise<{ url: string; recorded: Recorded[]; stop(): Promise<void> }> {
  const recorded: Recorded[] = [];
  const server = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/', headers } = request;
    const body = await bodyOf(request);
    const sent = { method, headers: { 'content-type': headers['content-type'] ?? '' }, ...(body.length > 0 && { body }) };
    try {
      const answer = await fetch(serviceUrl + path, sent);
      const bytes = Buffer.from(await answer.arrayBuffer());
      const type = answer.headers.get('content-type') ?? '';
      if (type === 'application/timestamp-reply')
        recorded.push({ reply: bytes, tokenId: answer.headers.get('qstamp-stamp-id') ?? undefined });
      response.writeHead(answer.status, { 'content-type': type, 'content-length': bytes.length }).end(bytes);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    recorded,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
