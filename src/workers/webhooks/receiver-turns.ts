import type { Clock } from '../../shared/runtime/clock.ts';

/** What is under way to one receiver at a time, in each worker; to one that failed last, only one. */
const mostAtOnce = 8;
/** What a delivery is taken to last before one has ended, and how much each later one counts. */
const firstGuessMs = 20;
const weight = 0.2;
const shortestWaitMs = 50;
const longestWaitMs = 30_000;
/** More receivers than that are not remembered while nothing is under way to them. */
const mostRemembered = 1_000;

interface Receiver {
  /** When each of what is under way began; the oldest first. */
  readonly underWay: Set<{ readonly startedAt: number }>;
  lastsMs: number;
  hasFailed: boolean;
  /** When the next of those that wait comes back. */
  nextAt: number;
}

/** One delivery: it ends once. */
export interface Turn {
  /** `wasTaken`: undefined where nothing was sent after all. */
  end(wasTaken: boolean | undefined): void;
}

/** Who may be sent a webhook now, so that a receiver that hangs keeps nobody else waiting (N5). */
export interface ReceiverTurns {
  /** A turn with this receiver, or after how long to ask again, in milliseconds: as late as those who asked before will take. */
  begin(receiver: string): Turn | { readonly waitMs: number };
}

export function createReceiverTurns({ clock, random = Math.random }: { clock: Clock; random?: () => number }): ReceiverTurns {
  const receivers = new Map<string, Receiver>();

  function forgetIdle(): void {
    for (const [name, { underWay, nextAt }] of receivers) if (underWay.size === 0 && nextAt <= clock()) receivers.delete(name);
  }

  function receiverOf(name: string): Receiver {
    const known = receivers.get(name);
    if (known) return known;
    if (receivers.size >= mostRemembered) forgetIdle();
    const fresh = { underWay: new Set<{ readonly startedAt: number }>(), lastsMs: firstGuessMs, hasFailed: false, nextAt: 0 };
    receivers.set(name, fresh);
    return fresh;
  }

  function waitFor(receiver: Receiver, limit: number): number {
    const now = clock();
    const [oldest] = receiver.underWay;
    // One that has hung for long says more than those before it.
    const lastsMs = Math.max(receiver.lastsMs, oldest ? now - oldest.startedAt : 0);
    const at = Math.min(Math.max(receiver.nextAt, now + shortestWaitMs), now + longestWaitMs);
    receiver.nextAt = at + lastsMs / limit;
    return Math.round((at - now) * (0.75 + random() / 4));
  }

  return {
    begin: (name) => {
      const receiver = receiverOf(name);
      const limit = receiver.hasFailed ? 1 : mostAtOnce;
      if (receiver.underWay.size >= limit) return { waitMs: waitFor(receiver, limit) };
      const delivery = { startedAt: clock() };
      receiver.underWay.add(delivery);
      return {
        end: (wasTaken) => {
          receiver.underWay.delete(delivery);
          if (wasTaken === undefined) return;
          receiver.lastsMs += weight * (clock() - delivery.startedAt - receiver.lastsMs);
          if (wasTaken && receiver.hasFailed) receiver.nextAt = 0;
          receiver.hasFailed = !wasTaken;
        },
      };
    },
  };
}
