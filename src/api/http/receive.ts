import type { Readable } from 'node:stream';
import { ServiceError } from '../../shared/domain/service-error.ts';

export interface ReceiveOptions {
  /** The most bytes; more is refused with 413. */
  readonly limit: number;
  /** Beyond this many bytes the stream stops once, until `whilePaused` is done. */
  readonly pauseAt?: number | undefined;
  readonly whilePaused: () => Promise<void>;
}

/**
 * All bytes of a body.
 *
 * @throws ServiceError `payload_too_large`, `bad_request` when the client leaves, and whatever `whilePaused` rejects with.
 */
export function receive(payload: Readable, { limit, pauseAt = limit, whilePaused }: ReceiveOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let received = 0;
  let mayPause = true;

  const onSilence = () => fail(new ServiceError('bad_request', 'The body stopped arriving.'));
  let silence = setTimeout(onSilence, mostSilentMs);
  const onData = (chunk: Buffer) => {
    silence.refresh();
    received += chunk.length;
    if (received > limit) return fail(new ServiceError('payload_too_large', `The body may have at most ${limit} bytes.`));
    chunks.push(chunk);
    if (received <= pauseAt || !mayPause) return;
    mayPause = false;
    payload.pause();
    clearTimeout(silence);
    whilePaused().then(() => {
      silence = setTimeout(onSilence, mostSilentMs);
      payload.resume();
    }, fail);
  };
  const onEnd = () => {
    detach();
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, received));
  };
  const onClose = () => fail(new ServiceError('bad_request', 'The request ended before its body did.'));
  const fail = (error: unknown) => {
    detach();
    chunks.length = 0;
    discard(payload).then(() => reject(error));
  };
  const detach = () => {
    clearTimeout(silence);
    payload.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose);
  };
  if (payload.destroyed) fail(new ServiceError('bad_request', 'The request ended before its body did.'));
  else payload.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
  return promise;
}

/** A body that stays silent for this long is given up, so that its reserved memory becomes free. */
const mostSilentMs = 10_000;

const mostDiscardedBytes = 64 * 1024 * 1024;
const mostDiscardingMs = 5_000;

/**
 * Reads and forgets the rest of a body that is refused, so that the client, who is still sending, gets to read the answer
 * instead of a reset connection. Gives up after 64 MiB or 5 s.
 */
export function discard(payload: Readable): Promise<void> {
  if (payload.destroyed || payload.readableEnded) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  let discarded = 0;
  const onData = (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > mostDiscardedBytes) finish();
  };
  const finish = () => {
    clearTimeout(timer);
    payload.off('data', onData).off('end', finish).off('close', finish);
    resolve();
  };
  const timer = setTimeout(finish, mostDiscardingMs);
  payload.on('data', onData).on('end', finish).on('close', finish).on('error', finish);
  payload.resume();
  return promise;
}
