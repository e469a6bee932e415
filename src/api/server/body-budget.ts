import { ServiceError } from '../../shared/domain/service-error.ts';

/** Who sends a body: with a service token or without, and from which address. */
export interface Sender {
  readonly hasToken: boolean;
  readonly address: string;
}

/** What one body takes of the budget. */
export interface BodyLease {
  /** Has it hold so many bytes in all. @throws ServiceError `overloaded` where there is no room for them */
  take(bytes: number): void;
  /** Gives all of them back. May be called more than once. */
  release(): void;
}

export interface BodyBudget {
  open(sender: Sender): BodyLease;
}

/**
 * How many bytes of bodies a process holds: for senders with a service token those of four of the largest bodies, and as many for all others. Of
 * each, one address has a quarter, which is one of the largest.
 */
export function createBodyBudget(largestBytes: number): BodyBudget {
  const taken = new Map<string, number>();
  const takenBy = (name: string): number => taken.get(name) ?? 0;
  const add = (name: string, bytes: number) => {
    const sum = takenBy(name) + bytes;
    if (sum === 0) taken.delete(name);
    else taken.set(name, sum);
  };
  return {
    open({ hasToken, address }) {
      const all = hasToken ? 'with a token' : 'without';
      const own = `${all} ${address}`;
      let held = 0;
      const hold = (bytes: number) => {
        add(all, bytes - held);
        add(own, bytes - held);
        held = bytes;
      };
      return {
        take(bytes) {
          const more = bytes - held;
          const hasRoom = takenBy(all) + more <= 4 * largestBytes && takenBy(own) + more <= largestBytes;
          if (!hasRoom) throw new ServiceError('overloaded', 'Too many uploads are under way; try again later.', { retryAfterSeconds: 2 });
          hold(bytes);
        },
        release: () => hold(0),
      };
    },
  };
}
