import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { stampInternal } from '../support/requests.ts';
import { freshMongoUrl } from '../support/servers.ts';
import { startService } from '../support/service.ts';

/** A connection to the server at `url`, shared by all clients, with this many bytes a second. */
async function slowLineTo(url: string, bytesPerSecond: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let sent: Promise<unknown> = Promise.resolve();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => socket.destroy()));
    const slowly = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        sent = sent.then(() => delay((1_000 * chunk.length) / bytesPerSecond)).then(() => done(null, chunk));
      },
    });
    client.pipe(slowly).pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return url.replace(`:${port}`, `:${typeof address === 'object' && address ? address.port : ''}`);
}

test('S11: content is stored even if its upload takes longer than any small command', async () => {
  const MONGODB_URL = await slowLineTo(freshMongoUrl(), 120_000);
  const service = await startService({ settings: { MONGODB_URL } });
  const content = Buffer.alloc(3_000_000, 'slow');
  const { status, body } = await stampInternal(service, { content_b64: content.toString('base64'), tier: 'sealed' });
  expect(status).toBe(201);
  expect(Buffer.from(await (await service.fetch(String(body.sealed_storage_url))).arrayBuffer()).equals(content)).toBe(true);
});
