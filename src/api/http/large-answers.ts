import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { addressKey } from './rate-limits.ts';

const mostAtOnce = 64;
const mostForOneAddress = 8;
/**
 * An answer is aborted after this time without progress. The client must read about 40 KiB in it, because Linux accepts more data only when a third
 * of its buffer is free.
 */
const mostIdleMs = 30_000;

/** Limits how many large answers a process sends at once: sealed content, evidence bundles, and bulk answers with more than a hundred items. */
export interface LargeAnswers {
  /**
   * Counts this answer until it is sent, and aborts it if its client reads nothing for 30 s.
   *
   * @throws ServiceError `overloaded` if there are 64 already, or 8 for this address; `bad_request` if the client has left
   */
  begin(request: FastifyRequest, reply: FastifyReply): void;
}

export function createLargeAnswers(): LargeAnswers {
  const ofAddress = new Map<string, number>();
  let underWay = 0;
  const count = (address: string, change: 1 | -1) => {
    const own = (ofAddress.get(address) ?? 0) + change;
    if (own === 0) ofAddress.delete(address);
    else ofAddress.set(address, own);
    underWay += change;
  };
  return {
    begin(request, reply) {
      const address = addressKey(request);
      if (reply.raw.destroyed) throw new ServiceError('bad_request', 'The client left before its answer was made.');
      if (underWay >= mostAtOnce || (ofAddress.get(address) ?? 0) >= mostForOneAddress) {
        throw new ServiceError('overloaded', 'Too many large answers are under way; try again later.', { retryAfterSeconds: 2 });
      }
      count(address, 1);
      reply.raw.once('close', () => count(address, -1));
      reply.raw.setTimeout(mostIdleMs, () => {
        const { socket } = request.raw;
        // If no data waits to be sent, the answer is still being made.
        if (socket.writableLength === 0) return;
        request.log.info('aborted the answer: the client reads too slowly');
        // A reset also drops the data that the operating system has buffered.
        socket.resetAndDestroy();
      });
    },
  };
}
