/**
 * Sends items in batches without a timer (docs/architecture.md "Accepting"). The first item is sent at once; those that arrive while it
 * is under way are sent together when it has been acknowledged. So no item ever waits for others to come.
 */
export interface Batcher<T> {
  /**
   * Resolves when the batch with the item was sent. When a batch fails, all items that wait behind it fail with the same error: what has
   * just hung would only make them wait longer.
   */
  add(item: T): Promise<void>;
}

interface Waiting<T> {
  item: T;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * `maxSize`: the most that one batch holds; an item that is larger goes alone. `gather`: a batch also takes the items that arrive until it
 * resolves, to what this batch holds at most, or to nothing for `maxSize`. Do not have writes to the store wait for the end of a turn of the event loop: there mongodb 7.9 may write to a socket that is
 * destroyed but not yet closed, and waits for it for ever.
 */
export function createBatcher<T>(options: {
  maxSize: number;
  /** Default: each counts as one. */
  sizeOf?: (item: T) => number;
  gather?: (first: T) => Promise<number | undefined>;
  flush: (items: T[]) => Promise<void>;
}): Batcher<T> {
  let waiting: Waiting<T>[] = [];
  let flushing = false;
  const { maxSize, sizeOf = () => 1 } = options;

  function takeBatch(most: number): Waiting<T>[] {
    let end = 0;
    for (let size = 0; end < waiting.length; end += 1) {
      size += sizeOf(waiting[end]!.item);
      if (size > most && end > 0) break;
    }
    return waiting.splice(0, end);
  }

  async function flushAll(): Promise<void> {
    flushing = true;
    for (let first = waiting[0]; first; first = waiting[0]) {
      const size = options.gather && (await options.gather(first.item));
      const batch = takeBatch(size ?? maxSize);
      try {
        await options.flush(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of [...batch, ...waiting]) reject(error);
        waiting = [];
      }
    }
    flushing = false;
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!flushing) void flushAll();
      }),
  };
}
