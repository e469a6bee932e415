import { once } from 'node:events';
import { Readable } from 'node:stream';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { registerErrorHandler } from '../../src/api/http/errors.ts';
import { createReplyMemory } from '../../src/api/http/reply-memory.ts';
import { registerSealedRoutes } from '../../src/api/routes/sealed.ts';
import { listen } from '../support/raw-http.ts';

test('a client that leaves before its content was found takes no memory for it', async () => {
  const replyMemory = createReplyMemory({ maxBytes: 100 });
  const asked = Promise.withResolvers<void>();
  const found = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const app = fastify();
  onTestFinished(() => app.close());
  registerErrorHandler(app);
  app.addHook('onRequest', (_request, reply, done) => {
    reply.raw.once('close', left.resolve);
    done();
  });
  registerSealedRoutes(app, {
    replyMemory,
    perMinute: 1,
    limits: { by: () => async () => undefined, mistakes: () => ({ check: () => undefined, count: async () => undefined }) },
    mistakes: {
      wrongToken: async () => undefined,
      unknownId: async () => undefined,
      count: (_request, _reply, work) => work(),
      guard: (_request, _reply, work) => work(),
    },
    sealedDownload: {
      digests: async () => [],
      container: async () => Readable.from([]),
      content: async (_id, _secret, reserve) => {
        asked.resolve();
        await found.promise;
        await reserve(60).finally(ended.resolve);
        return { content: Buffer.alloc(60), hash: '00' };
      },
    },
  });
  const socket = await (await listen(app)).open();
  const path = `/api/v1/sealed/v1/00000000-0000-4000-8000-000000000000/${'A'.repeat(43)}`;
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await asked.promise;
  socket.destroy();
  await Promise.all([once(socket, 'close'), left.promise]);
  found.resolve();
  await ended.promise.catch(() => undefined);
  expect(replyMemory.freeBytes).toBe(100);
});
