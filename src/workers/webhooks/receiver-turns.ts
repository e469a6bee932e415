import type { Woken } from '../../shared/queue/job-sender.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

/** What is under way to one receiver at a time, in each worker; to one that failed last, only one. */
const mostAtOnce = 8;
/**
 * Who waits is called when a turn ends. In case that is missed, he asks again: after twice what the oldest delivery has taken, and so late that all
 * who wait ask 40 times a second together; within these.
 */
const shortestWaitMs = 500;
const longestWaitMs = 30_000;
const betweenAsksMs = 25;
/** More than that wait without being called, and more receivers are not remembered while nothing is under way to them. */
const mostCalled = 10_000;
const mostRemembered = 1_000;
/** So many of those that wait are called in vain. */
const mostTried = 100;

interface Receiver {
  /** When each of what is under way began; the oldest first. */
  readonly underWay: Set<{ readonly startedAt: number }>;
  /** Jobs that are to be called, in their order. */
  readonly waiting: Set<string>;
  hasFailed: boolean;
}

/** One delivery: it ends once. */
export interface Turn {
  /** `wasTaken`: undefined where nothing was sent after all. */
  end(wasTaken: boolean | undefined): void;
}

/** Who may be sent a webhook now, so that a receiver that hangs keeps nobody else waiting (N5). */
export interface ReceiverTurns {
  /** A turn of this job with this receiver, or after how long it is to ask again at the latest, in milliseconds; and whether its last webhook was not taken. */
  begin(receiver: string, jobId: string): Turn | { readonly waitMs: number; readonly hasFailed: boolean };
}

/** `wake`: has a waiting job run now. */
export function createReceiverTurns(deps: { clock: Clock; wake: (jobId: string) => Promise<Woken>; random?: () => number }): ReceiverTurns {
  const { clock, wake, random = Math.random } = deps;
  const receivers = new Map<string, Receiver>();

  function receiverOf(name: string): Receiver {
    const known = receivers.get(name);
    if (known) return known;
    if (receivers.size >= mostRemembered) forgetIdle();
    const fresh = { underWay: new Set<{ readonly startedAt: number }>(), waiting: new Set<string>(), hasFailed: false };
    receivers.set(name, fresh);
    return fresh;
  }

  function waitMsFor({ underWay, waiting, hasFailed }: Receiver): number {
    const [oldest] = underWay;
    const ageMs = oldest ? clock() - oldest.startedAt : 0;
    const neededMs = Math.max(2 * ageMs, betweenAsksMs * waiting.size, shortestWaitMs);
    const atMostMs = hasFailed ? longestWaitMs : Math.min(neededMs, longestWaitMs);
    return Math.round(atMostMs * (0.75 + random() / 4));
  }

  const limitOf = ({ hasFailed }: Receiver) => (hasFailed ? 1 : mostAtOnce);

  /** Another worker may have done what waited here, or it is only about to wait: then the next one is called. Two, where there is room again for more. */
  async function callNext(receiver: Receiver): Promise<void> {
    const { waiting, underWay } = receiver;
    let left = Math.min(limitOf(receiver) - underWay.size, 2);
    for (const jobId of [...waiting].slice(0, mostTried)) {
      if (left <= 0) return;
      if (!waiting.delete(jobId)) continue;
      const woken = await wake(jobId);
      if (woken === 'woken') left -= 1;
      if (woken === 'not_asleep') waiting.add(jobId);
    }
  }

  /** What failed is not remembered for ever. */
  function forgetIdle(): void {
    for (const [name, { underWay }] of receivers) if (underWay.size === 0) receivers.delete(name);
  }

  return {
    begin: (name, jobId) => {
      const receiver = receiverOf(name);
      const { underWay, waiting } = receiver;
      if (underWay.size >= limitOf(receiver)) {
        if (waiting.size < mostCalled) waiting.add(jobId);
        return { waitMs: waitMsFor(receiver), hasFailed: receiver.hasFailed };
      }
      waiting.delete(jobId);
      const delivery = { startedAt: clock() };
      underWay.add(delivery);
      return {
        end: (wasTaken) => {
          underWay.delete(delivery);
          if (wasTaken !== undefined) receiver.hasFailed = !wasTaken;
          void callNext(receiver);
        },
      };
    },
  };
}
