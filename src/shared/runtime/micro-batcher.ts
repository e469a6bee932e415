import assert from 'node:assert/strict';

export type MicroBatcher<Item, Result> = ReturnType<typeof createMicroBatcher<Item, Result>>;

interface MicroBatcherOptions<Item, Result> {
  readonly maxItems: number;
  /**
   * Returns a result for each item, in the same order. The batch counts as finished when `send` resolves. A result may itself be a promise, and
   * resolve later.
   */
  readonly send: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>;
  /**
   * A batch also takes the items that arrive until `gather` resolves. Before a write to MongoDB, do not let it wait for the end of an event-loop turn:
   * mongodb 7.9 may then write to a socket that is destroyed but not yet closed, and wait forever.
   */
  readonly gather?: () => Promise<unknown>;
  /** Whether an item waits behind those for which this is false. */
  readonly goesLast?: (item: Item) => boolean;
  /** The maximum number of batches in progress. By default there is no limit. */
  readonly maxUnderWay?: number;
  /** How long the first item of a batch waits for others if no batch is in progress, in milliseconds. By default it does not wait. */
  readonly windowMs?: number;
  /** How long the first item waits while another batch is in progress, in milliseconds. By default it waits until this batch returns. */
  readonly patienceMs?: number;
}

/**
 * A batcher is `idle` until an item arrives, a batch returns or the timer ends. Then it is `gathering`: it takes more items until `gather`
 * resolves. After that, it is `idle` again, sends every batch that is due, and sets the timer for the next batch.
 */
type BatcherState = 'idle' | 'gathering';

interface WaitingItem<Item, Result> {
  readonly item: Item;
  readonly since: number;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Sends items in batches (natural batching). It needs no timer, unless `windowMs` or `patienceMs` is set. If no batch is in progress, an item is sent
 * at once. Items that arrive during a batch are sent together when this batch returns, or as soon as they fill a batch.
 */
export function createMicroBatcher<Item, Result>({
  maxItems,
  send,
  gather,
  goesLast = () => false,
  maxUnderWay = Number.POSITIVE_INFINITY,
  windowMs = 0,
  patienceMs = Number.POSITIVE_INFINITY,
}: MicroBatcherOptions<Item, Result>) {
  const waiting: WaitingItem<Item, Result>[] = [];
  let underWay = 0;
  let state: BatcherState = 'idle';
  let timer: NodeJS.Timeout | undefined;

  async function sendBatch(batch: readonly WaitingItem<Item, Result>[]): Promise<void> {
    underWay += 1;
    try {
      const results = await send(batch.map(({ item }) => item));
      assert(results.length === batch.length, 'send returns a result for each item');
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    underWay -= 1;
    void sendWaiting();
  }

  /** Returns the milliseconds until the first waiting item is due, if no batch returns earlier. */
  function dueInMs({ since }: WaitingItem<Item, Result>): number {
    if (waiting.length >= maxItems) return 0;
    return since + (underWay > 0 ? Math.max(patienceMs, windowMs) : windowMs) - performance.now();
  }

  async function sendWaiting(): Promise<void> {
    if (state === 'gathering' || waiting.length === 0) return;
    state = 'gathering';
    try {
      await gather?.();
    } catch {
      // If `gather` fails, send the items that are already here.
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
    add: (item: Item): Promise<Result> =>
      new Promise((resolve, reject) => {
        const entry = { item, since: performance.now(), resolve, reject };
        const place = goesLast(item) ? -1 : waiting.findIndex((each) => goesLast(each.item));
        waiting.splice(place < 0 ? waiting.length : place, 0, entry);
        void sendWaiting();
      }),
    /** Removes an item that is in no batch yet. Its promise then never settles. Returns false if the item is not waiting. */
    remove: (item: Item): boolean => {
      const place = waiting.findIndex((each) => each.item === item);
      if (place >= 0) waiting.splice(place, 1);
      return place >= 0;
    },
  };
}
