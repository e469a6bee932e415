/**
 * Collects what comes while something is under way (natural batching): alone, an item is sent at once, and what arrives meanwhile is sent
 * together when that is done. Unlike a `MicroBatcher` it may wait for others, limits the groups under way, and a failed group leaves
 * those behind it alone.
 */
export interface Collector<T, R> {
  /** Resolves or rejects as `send` says of this item. */
  add(item: T): Promise<R>;
}

export interface CollectorOptions<T, R> {
  /** A group of so many does not wait for the one before. */
  readonly maxItems: number;
  /** Groups under way at a time, at most. */
  readonly maxUnderWay: number;
  /** How long the first of a group waits for others though nothing is under way, milliseconds. */
  readonly windowMs: number;
  /** Nobody waits longer for a group that is under way, milliseconds: the next one goes beside it. */
  readonly patienceMs: number;
  /** An outcome for each item, in their order. What it throws is the outcome of all. */
  send(items: readonly T[]): Promise<readonly (R | Promise<R>)[]>;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly since: number;
  resolve(outcome: R | Promise<R>): void;
  reject(reason: unknown): void;
}

export function createCollector<T, R>({ maxItems, maxUnderWay, windowMs, patienceMs, send }: CollectorOptions<T, R>): Collector<T, R> {
  let waiting: Waiting<T, R>[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;

  /** In how many milliseconds the first that waits may go; 0: now. */
  function dueInMs({ since }: Waiting<T, R>): number {
    if (waiting.length >= maxItems) return 0;
    return Math.max(0, since + (underWay > 0 ? Math.max(patienceMs, windowMs) : windowMs) - performance.now());
  }

  async function sendGroup(group: readonly Waiting<T, R>[]): Promise<void> {
    underWay += 1;
    try {
      const outcomes = await send(group.map(({ item }) => item));
      for (const [i, { resolve }] of group.entries()) resolve(outcomes[i]!);
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      underWay -= 1;
      look();
    }
  }

  function look(): void {
    isLooking = false;
    clearTimeout(timer);
    for (let first = waiting[0]; first && underWay < maxUnderWay; first = waiting[0]) {
      const dueMs = dueInMs(first);
      if (dueMs > 0) {
        timer = setTimeout(look, dueMs);
        return;
      }
      const group = waiting.slice(0, maxItems);
      waiting = waiting.slice(maxItems);
      void sendGroup(group);
    }
  }

  /** What is added in the same turn of the event loop goes together. */
  function lookAfterTurn(): void {
    if (isLooking) return;
    isLooking = true;
    setImmediate(look);
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, since: performance.now(), resolve, reject });
        lookAfterTurn();
      }),
  };
}
