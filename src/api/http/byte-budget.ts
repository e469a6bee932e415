import { ServiceError } from '../../shared/domain/service-error.ts';

export interface Reservation {
  /** Settles when the bytes are granted; rejects with ServiceError `overloaded` when that took too long. */
  readonly granted: Promise<void>;
  /** Gives the bytes back, or leaves the queue. May be called more than once. */
  release(): void;
}

/** A share of memory that requests take before they bring something large, so that many of them pass one after another. */
export interface ByteBudget {
  reserve(bytes: number): Reservation;
  readonly freeBytes: number;
}

interface Waiter {
  readonly bytes: number;
  readonly admit: () => void;
}

/**
 * At most `maxBytes` are reserved at a time, first come first served. Who has waited `waitMs` in a queue that does not move gets 503
 * (E10); as long as it moves, waiting is worth it.
 */
export function createByteBudget({ maxBytes, waitMs = 10_000 }: { maxBytes: number; waitMs?: number }): ByteBudget {
  const queue = new Set<Waiter>();
  let freeBytes = maxBytes;
  let movedAt = 0;

  const admitWhoFits = () => {
    for (const waiter of queue) {
      if (waiter.bytes > freeBytes) return;
      freeBytes -= waiter.bytes;
      movedAt = performance.now();
      queue.delete(waiter);
      waiter.admit();
    }
  };

  return {
    get freeBytes() {
      return freeBytes;
    },
    reserve(wanted) {
      const { promise: granted, resolve, reject } = Promise.withResolvers<void>();
      const waiter: Waiter = { bytes: Math.min(wanted, maxBytes), admit: () => admit() };
      let isHeld = false;
      const giveUp = () => {
        const stillMs = performance.now() - movedAt;
        if (stillMs < waitMs) timer = setTimeout(giveUp, waitMs - stillMs);
        else leave(new ServiceError('overloaded', 'Too many large transfers are under way; try again later.', { retryAfterSeconds: 5 }));
      };
      let timer = setTimeout(giveUp, waitMs);
      const admit = () => {
        clearTimeout(timer);
        isHeld = true;
        resolve();
      };
      const leave = (reason: ServiceError) => {
        clearTimeout(timer);
        queue.delete(waiter);
        reject(reason);
        admitWhoFits();
      };
      queue.add(waiter);
      admitWhoFits();
      return {
        granted,
        release() {
          if (queue.has(waiter)) leave(new ServiceError('bad_request', 'The client left before its body was read.'));
          if (!isHeld) return;
          isHeld = false;
          freeBytes += waiter.bytes;
          admitWhoFits();
        },
      };
    },
  };
}
