import { ServiceError } from '../../shared/domain/service-error.ts';

/** The sender of a body: its IP address, and whether it has a service token. */
export interface Sender {
  readonly hasToken: boolean;
  readonly address: string;
}

/** The part of the budget that one body uses. */
interface BodyLease {
  /** Sets the number of bytes that this body uses in total. @throws ServiceError `overloaded` if the budget has no room */
  take(bytes: number): void;
  /** Returns all bytes to the budget. May be called more than once. */
  release(): void;
}

export interface BodyBudget {
  open(sender: Sender): BodyLease;
}

/**
 * Limits the memory for bodies in a process. Senders with a service token share four times `largestBytes`, and all others share the same amount.
 * Within its group, one IP address may use `largestBytes`.
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
