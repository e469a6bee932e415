import type { Readable } from 'node:stream';

const mebibyte = 1024 * 1024;
const mostDiscardedBytes = 64 * mebibyte;
const mostDiscardingMs = 5_000;

/** What one process reads only to forget it: so much a second, and so much at once after a while without. */
const allowance = { bytesPerMs: (64 * mebibyte) / 1_000, mostBytes: 256 * mebibyte };

let leftBytes = allowance.mostBytes;
let countedAt = 0;

/** Whether so many bytes may still be read for politeness' sake; in a flood of bodies there is no time for it. */
function isAllowed(bytes: number): boolean {
  const now = performance.now();
  leftBytes = Math.min(allowance.mostBytes, leftBytes + (now - countedAt) * allowance.bytesPerMs) - bytes;
  countedAt = now;
  if (leftBytes >= 0) return true;
  leftBytes = 0;
  return false;
}

/**
 * Reads and forgets the rest of a body that is refused, so that the client, who is still sending, gets to read the answer
 * instead of a reset connection. Gives up after 64 MiB or 5 s, and at once while too much is being refused.
 */
export function discard(payload: Readable): Promise<void> {
  if (payload.destroyed || payload.readableEnded) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  let discarded = 0;
  const onData = (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > mostDiscardedBytes || !isAllowed(chunk.length)) finish();
  };
  const finish = () => {
    clearTimeout(timer);
    payload.off('data', onData).off('end', finish).off('close', finish).pause();
    resolve();
  };
  const timer = setTimeout(finish, mostDiscardingMs);
  payload.on('data', onData).on('end', finish).on('close', finish).on('error', finish);
  payload.resume();
  return promise;
}
