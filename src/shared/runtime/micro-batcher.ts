/**
 * Sends items together (natural batching), without a timer unless one is asked for: an item that finds nothing under way is sent at once, and those
 * that arrive while a batch is under way leave together when it has returned, or as soon as they fill a batch.
 */
export interface MicroBatcher<Item, Result> {
  /** Resolves with the result of this item, or rejects as its batch does. */
  add(item: Item): Promise<Result>;
}

export interface MicroBatcherOptions<Item, Result> {
  /** The most items of one batch. */
  readonly maxItems: number;
  /**
   * Returns a result for each item, in their order. The next batch leaves when `send` itself has returned; a result that is a promise may come later.
   */
  readonly send: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>;
  /**
   * Also takes what arrives until this resolves. Do not wait for the end of a turn of the event loop before a write to the store: mongodb 7.9 may
   * then write to a socket that is destroyed but not yet closed, and waits for ever.
   */
  readonly gather?: () => Promise<unknown>;
  /** The most batches under way at a time; default: no limit. */
  readonly maxUnderWay?: number;
  /** How long the first of a batch waits for others though nothing is under way, milliseconds; default: not at all. */
  readonly windowMs?: number;
  /** How long the first waits for a batch that is under way, milliseconds; default: until it has returned. */
  readonly patienceMs?: number;
}

/**
 * A batcher is `idle` until an item arrives, a batch returns or the timer ends. Then it is `gathering`: it also takes what arrives until `gather`
 * resolves. After that it sends every batch that is due, sets the timer for one that is not, and is `idle` again.
 */
type BatcherState = 'idle' | 'gathering';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly since: number;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (reason: unknown) => void;
}

export function createMicroBatcher<Item, Result>({
  maxItems,
  send,
  gather,
  maxUnderWay = Number.POSITIVE_INFINITY,
  windowMs = 0,
  patienceMs = Number.POSITIVE_INFINITY,
}: MicroBatcherOptions<Item, Result>): MicroBatcher<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let underWay = 0;
  let state: BatcherState = 'idle';
  let timer: NodeJS.Timeout | undefined;

  async function sendBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    underWay += 1;
    try {
      const results = await send(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    underWay -= 1;
    void sendWaiting();
  }

  /** In how many milliseconds the first that waits leaves, if nothing returns meanwhile. */
  function dueInMs({ since }: Waiting<Item, Result>): number {
    if (waiting.length >= maxItems) return 0;
    return since + (underWay > 0 ? Math.max(patienceMs, windowMs) : windowMs) - performance.now();
  }

  async function sendWaiting(): Promise<void> {
    if (state === 'gathering' || waiting.length === 0) return;
    state = 'gathering';
    try {
      await gather?.();
    } catch {
      // Then the batch leaves with what there is.
    }
    state = 'idle';
    clearTimeout(timer);
    for (let [first] = waiting; first && underWay < maxUnderWay; [first] = waiting) {
      const dueMs = dueInMs(first);
      if (dueMs > 0) {
        if (dueMs < Number.POSITIVE_INFINITY) timer = setTimeout(() => void sendWaiting(), dueMs);
        return;
      }
      void sendBatch(waiting.splice(0, maxItems));
    }
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, since: performance.now(), resolve, reject });
        void sendWaiting();
      }),
  };
}
