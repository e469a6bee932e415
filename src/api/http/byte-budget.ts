import { ServiceError } from '../../shared/domain/service-error.ts';

export interface Reservation {
  /** Resolves when the bytes are reserved. Rejects with ServiceError `overloaded` after too long a wait. */
  readonly granted: Promise<void>;
  /** Gives the bytes back, or stops waiting for them. May be called more than once. */
  release(): void;
}

/** Limits the memory that large bodies take together: each reserves its bytes first, and waits while too many are reserved. */
export interface ByteBudget {
  reserve(bytes: number): Reservation;
  readonly freeBytes: number;
}

interface Waiter {
  readonly bytes: number;
  readonly admit: () => void;
}

/**
 * Grants at most `maxBytes` at a time, in the order of the requests. A request is refused with 503 (E10) when for `waitMs` no request at
 * all was granted its bytes; while others are, it keeps waiting, since its turn will come.
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
