import { randomInt } from 'node:crypto';
import net from 'node:net';

/** Whether nothing listens on this port of the address. */
export function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Finds a free port of 127.0.0.1: the preferred port if it is free, otherwise any. It is below the ports that systems give to outgoing connections,
 * so that none of these takes it before the server does.
 */
export async function findFreePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isPortFree(preferred))) return preferred;
  const port = randomInt(20_000, 32_768);
  return (await isPortFree(port)) ? port : findFreePort();
}
