import type { Readable } from 'node:stream';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { BodyLease } from './body-memory.ts';
import type { ByteSink } from './byte-collector.ts';
import { discard } from './discard.ts';

export interface ReceiveOptions<Received> {
  /** The most bytes; more is refused with 413. */
  readonly limit: number;
  /** What becomes of the bytes. */
  readonly sink: ByteSink<Received>;
  /** Where the memory is taken as the bytes arrive; they stay taken. */
  readonly lease: BodyLease;
  readonly pace?: Pace | undefined;
}

/** The least that a client must send while we read: so many bytes, and such a share of those that came before. */
export interface Pace {
  readonly bytes: number;
  readonly share: number;
  readonly withinMs: number;
}

/** The share is that of a body that comes steadily for the 120 s that a request may take. */
const leastPace: Pace = { bytes: 40 * 1024, share: 1 / 12, withinMs: 10_000 };

/**
 * What the sink made of all bytes of a body.
 *
 * @throws ServiceError `payload_too_large`, `request_timeout` when the client is slower than `pace`, `bad_request` when it leaves,
 * `overloaded` when there is no memory for the body.
 */
export function receive<Received>(
  payload: Readable,
  { limit, sink, lease, pace = leastPace }: ReceiveOptions<Received>,
): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  let received = 0;
  let receivedBefore = 0;

  // After a turn in which this process was busy, what has arrived meanwhile is read first.
  const judgePace = () => setImmediate(() => (received - receivedBefore < neededBytes() ? giveUp() : keepPace()));
  const neededBytes = () => Math.max(pace.bytes, Math.ceil(receivedBefore * pace.share));
  let clock = setTimeout(judgePace, pace.withinMs);
  const keepPace = () => {
    if (isDetached) return;
    receivedBefore = received;
    clearTimeout(clock);
    clock = setTimeout(judgePace, pace.withinMs);
  };
  let isDetached = false;

  const collect = (bytes: Buffer): void => {
    const { missingBytes, rest } = sink.add(bytes, lease.take);
    if (missingBytes === 0) return;
    payload.pause();
    clearTimeout(clock);
    lease.takeLater(missingBytes).then(() => {
      if (isDetached) return;
      sink.grow(missingBytes);
      keepPace();
      payload.resume();
      collect(rest);
    }, fail);
  };
  const onData = (chunk: Buffer) => {
    received += chunk.length;
    if (received > limit) fail(new ServiceError('payload_too_large', `The body may have at most ${limit} bytes.`));
    else collect(chunk);
  };
  const onEnd = () => {
    detach();
    lease.complete();
    resolve(sink.finish());
  };
  const onClose = () => fail(new ServiceError('bad_request', 'The request ended before its body did.'));
  const detach = () => {
    isDetached = true;
    clearTimeout(clock);
    payload.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose);
  };
  const forget = () => {
    detach();
    sink.clear();
    lease.release();
  };
  const fail = (error: unknown) => {
    if (isDetached) return;
    forget();
    discard(payload).then(() => reject(error));
  };
  // Of a body that hardly comes nothing is on its way, so nothing needs to be read before the answer.
  const giveUp = () => {
    if (isDetached) return;
    forget();
    payload.on('error', () => undefined);
    const seconds = pace.withinMs / 1_000;
    reject(
      new ServiceError('request_timeout', `The body arrives too slowly: at least ${neededBytes()} bytes in ${seconds} seconds are needed.`),
    );
  };
  if (payload.destroyed) fail(new ServiceError('bad_request', 'The request ended before its body did.'));
  else payload.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
  return promise;
}
