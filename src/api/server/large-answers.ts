import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { addressKey } from './rate-limits.ts';

const mostAtOnce = 64;
const mostForOneAddress = 8;
/** Node looks that often whether the client has taken anything. Linux takes more of us only when a third of its buffer is free: some 40 KiB or more. */
const mostIdleMs = 30_000;

/** Bounds how many large answers a process sends at a time: sealed content, evidence bundles, answers to more than a hundred items. */
export interface LargeAnswers {
  /**
   * Counts this answer until it is sent, and ends it when its client takes nothing for 30 s.
   *
   * @throws ServiceError `overloaded` where there are 64 already, or 8 of this address; `bad_request` where the client has left
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
        // Where nothing is to be read yet, the answer is still being made.
        if (socket.writableLength === 0) return;
        request.log.info('the client reads too slowly and is cut off');
        // A reset: what the system still has of it is dropped as well.
        socket.resetAndDestroy();
      });
    },
  };
}
