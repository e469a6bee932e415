import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The maximum wait for the holder's answer. A holder that does not answer still holds the lock. */
const patienceMs = 1_000;

/**
 * Takes a lock for the lifetime of this process. The lock is a listening socket that answers with a description of its holder. On Linux the socket
 * has no file, and the kernel removes it when the process ends. On other systems the socket file of a killed process refuses connections and is
 * removed.
 *
 * @returns undefined if we have the lock now, otherwise its holder's answer
 */
export async function takeLock(name: string, describe: () => string): Promise<string | undefined> {
  const digest = createHash('sha256').update(`${userInfo().uid}:${name}`).digest('hex').slice(0, 24);
  const path = process.platform === 'linux' ? `\0qstamp-${digest}` : join(tmpdir(), `qstamp-${digest}.sock`);
  for (;;) {
    const server = net.createServer((socket) => socket.on('error', () => undefined).end(describe()));
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    server.listen(path, () => resolve(true));
    if (await promise) {
      server.unref();
      return undefined;
    }
    const socket = net.connect(path);
    socket.setTimeout(patienceMs, () => socket.end());
    try {
      return await text(socket);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
      if (!path.startsWith('\0')) rmSync(path, { force: true });
    }
  }
}
