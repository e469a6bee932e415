import { setImmediate as restOfTurn } from 'node:timers/promises';

/**
 * Lets requests travel together that arrive while a flush is under way, and none wait for company: the first goes in the turn of
 * the event loop that brings it, the rest when it has been acknowledged (docs/architecture.md "Accepting"). No timer is involved.
 */
export interface Batcher<T> {
  /**
   * Resolves when the batch that holds the item was flushed. When a flush fails, all that wait behind it are rejected with
   * the same reason: a queue that hangs answers none of them any sooner.
   */
  add(item: T): Promise<void>;
}

interface Waiting<T> {
  item: T;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * `gathersTurn`: a flush takes along what the same turn of the event loop still brings. Not for flushes to the store: at the end of
 * the turn in which a connection is lost its socket is destroyed and not yet closed, and mongodb 7.9 waits for its 'drain' for ever.
 */
export function createBatcher<T>(options: { maxItems: number; gathersTurn?: boolean; flush: (items: T[]) => Promise<void> }): Batcher<T> {
  let waiting: Waiting<T>[] = [];
  let flushing = false;

  async function flushAll(): Promise<void> {
    flushing = true;
    while (waiting.length > 0) {
      if (options.gathersTurn) await restOfTurn();
      const batch = waiting.slice(0, options.maxItems);
      waiting = waiting.slice(options.maxItems);
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
