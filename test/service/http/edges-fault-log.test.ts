import { once } from 'node:events';
import { type FastifyBaseLogger, fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createEdgeServerOptions } from '../../../src/api/http/connections.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { listen } from '../../support/raw-http.ts';

test('many malformed HTTP requests: all get answers, some are logged', async () => {
  const lines: string[] = [];
  const log: FastifyBaseLogger = createLogger({ level: 'info', process: 'api', destination: { write: (line) => void lines.push(line) } });
  const app = fastify({ ...createEdgeServerOptions(), loggerInstance: log });
  onTestFinished(() => app.close());
  const { open } = await listen(app);
  const sockets = await Promise.all(Array.from({ length: 200 }, open));
  const answers = sockets.map(async (socket) => {
    socket.write('garbage\r\n\r\n');
    const [answer] = await once(socket, 'data');
    socket.destroy();
    return String(answer).slice(0, 'HTTP/1.1 400'.length);
  });
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['HTTP/1.1 400']));
  const logged = lines.filter((line) => line.includes('HPE_'));
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.length).toBeLessThan(150);
});
