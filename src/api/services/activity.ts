import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { Activity, CounterStore } from '../../shared/store/counters.ts';
import type { Verification } from './verification.ts';

/** How long a count may stay in memory. */
const flushMs = 2_000;

/**
 * Counts frequent events such as verifications in memory, and writes them every two seconds and at the end of the process. A process that
 * is killed loses what it had not written. Stamps are never counted this way.
 */
export interface ActivityCounter {
  count(activity: Activity): void;
  /** Writes what is left. */
  stop(): Promise<void>;
}

export function createActivityCounter(deps: { counters: CounterStore; clock: Clock; log: Logger }): ActivityCounter {
  const { counters, clock, log } = deps;
  let pending = new Map<Activity, number>();
  const add = (activity: Activity, amount: number) => pending.set(activity, (pending.get(activity) ?? 0) + amount);

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const taken = pending;
    pending = new Map();
    try {
      await counters.count(Object.fromEntries(taken), clock());
    } catch (error) {
      log.debug({ err: error }, 'activity is counted later');
      for (const [activity, amount] of taken) add(activity, amount);
    }
  }

  let flushing: Promise<void> | undefined;
  const timer = setInterval(() => {
    flushing ??= flush().finally(() => {
      flushing = undefined;
    });
  }, flushMs);
  return {
    count: (activity) => void add(activity, 1),
    stop: async () => {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}

/** The same verification, every answer of it counted. */
export function countVerifications(verification: Verification, activity: Pick<ActivityCounter, 'count'>): Verification {
  const counted =
    <Arguments extends unknown[], Result>(verify: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      const result = await verify(...given);
      activity.count('verifications');
      return result;
    };
  return { ...verification, byId: counted(verification.byId), raw: counted(verification.raw) };
}
