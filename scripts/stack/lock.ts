import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * Takes a lock that lasts as long as this process: a listening socket, which says who holds it. The socket of a process that was killed refuses
 * connections, and is removed.
 *
 * @returns undefined where the lock is ours now, else what its holder says
 */
export async function takeLock(name: string, describe: () => string): Promise<string | undefined> {
  const digest = createHash('sha256').update(`${userInfo().uid}:${name}`).digest('hex').slice(0, 24);
  const path = join(tmpdir(), `qstamp-${digest}.sock`);
  for (;;) {
    const server = net.createServer((socket) => socket.on('error', () => undefined).end(describe()));
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    server.listen(path, () => resolve(true));
    if (await promise) {
      server.unref();
      return undefined;
    }
    try {
      return await text(net.connect(path));
    } catch {
      rmSync(path, { force: true });
    }
  }
}
