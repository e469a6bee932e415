import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

/**
 * A held lock. Its holder may tell others what it is doing (`describe`).
 * @typedef {{ release(): Promise<void> }} Lock
 */

/**
 * A lock is a listening socket, so the kernel releases it when its holder dies: there is no stale lock to clean up, and
 * whoever finds it taken can ask the holder where it is. On Linux the socket has no file.
 * @param {string} name what is locked, usually a path
 */
function addressOf(name) {
  const digest = createHash('sha256').update(`${os.userInfo().uid}:${name}`).digest('hex').slice(0, 24);
  return process.platform === 'linux' ? `\0qstamp-${digest}` : path.join(os.tmpdir(), `qstamp-${digest}.sock`);
}

/**
 * @param {string} address
 * @returns {Promise<string | undefined>} what the holder says, or undefined when nobody holds it
 */
function askHolder(address) {
  return new Promise((resolve) => {
    let said = '';
    const socket = net.connect({ path: address });
    socket.setTimeout(1000, () => socket.destroy());
    socket.on('data', (chunk) => {
      said += chunk;
    });
    socket.on('error', (error) => {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ECONNREFUSED') return;
      if (!address.startsWith('\0')) rmSync(address, { force: true });
      resolve(undefined);
    });
    socket.on('close', () => resolve(said));
  });
}

/**
 * Takes the lock, or answers what its holder says.
 * @param {string} name
 * @param {() => string} [describe] answered to those who find the lock taken
 * @returns {Promise<{ lock: Lock } | { holder: string }>}
 */
export async function tryLock(name, describe = () => '') {
  const address = addressOf(name);
  for (;;) {
    const server = net.createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(describe());
    });
    const taken = await new Promise((resolve, reject) => {
      server.once('error', (error) =>
        /** @type {NodeJS.ErrnoException} */ (error).code === 'EADDRINUSE' ? resolve(false) : reject(error),
      );
      server.listen({ path: address }, () => resolve(true));
    });
    if (taken) {
      server.unref();
      return { lock: { release: () => new Promise((resolve) => server.close(() => resolve())) } };
    }
    const holder = await askHolder(address);
    if (holder !== undefined) return { holder };
  }
}

/**
 * Waits for the lock, runs, releases.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} run
 * @param {{ signal?: AbortSignal, onWait?: () => void }} [options] `onWait` is called once when another process holds it
 * @returns {Promise<T>}
 */
export async function withLock(name, run, { signal, onWait } = {}) {
  let told = false;
  for (;;) {
    signal?.throwIfAborted();
    const attempt = await tryLock(name);
    if ('lock' in attempt) {
      try {
        return await run();
      } finally {
        await attempt.lock.release();
      }
    }
    if (!told) onWait?.();
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
