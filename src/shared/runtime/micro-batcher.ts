/**
 * Sends items together (natural batching), without a timer: an item that finds nothing under way is sent at once, and those that arrive while a
 * batch is under way leave together when it has returned, or as soon as they fill a batch. So no item waits for others to come.
 */
export interface MicroBatcher<Item, Result> {
  /**
   * Resolves with the result of this item. When a batch fails, all items that wait behind it fail with the same error: they would only wait for the same
   * fault.
   */
  add(item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (reason: unknown) => void;
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
}

export function createMicroBatcher<Item, Result>({
  maxItems,
  send,
  gather,
}: MicroBatcherOptions<Item, Result>): MicroBatcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let underWay = 0;
  let isGathering = false;

  async function sendBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    underWay += 1;
    try {
      const results = await send(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      for (const { reject } of [...batch, ...waiting]) reject(error);
      waiting = [];
    }
    underWay -= 1;
    void sendWaiting();
  }

  async function sendWaiting(): Promise<void> {
    if (isGathering || waiting.length === 0) return;
    isGathering = true;
    try {
      await gather?.();
    } catch {
      // Then the batch leaves with what there is.
    }
    isGathering = false;
    while (waiting.length >= maxItems || (waiting.length > 0 && underWay === 0)) void sendBatch(waiting.splice(0, maxItems));
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        void sendWaiting();
      }),
  };
}
