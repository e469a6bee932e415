import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore } from '../../shared/store/counters.ts';
import { blockSize, type StampDirectory } from '../../shared/store/stamp-directory.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';

/** What was written settles before it is marked. */
const extendAfterMs = 40_000;

/** A product that has fewer stamps needs no marks. */
const few = 4 * blockSize;

/** Keeps the directory of stamps up with what this process writes. */
export interface DirectoryKeeper {
  /**
   * To be called for stamps that were written, or may have been by an earlier run.
   *
   * @throws ServiceError `store_unavailable`
   */
  wrote(stamps: readonly StoredStamp[]): Promise<void>;
  /** Marks what was written before this process started. */
  start(products: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface DirectoryKeeperDeps {
  readonly directory: StampDirectory;
  readonly counters: Pick<CounterStore, 'productTotal'>;
  readonly log: Logger;
}

export function createDirectoryKeeper({ directory, counters, log }: DirectoryKeeperDeps): DirectoryKeeper {
  /** Stamps of a product that this process wrote since it last made marks. */
  const unmarked = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let extending = Promise.resolve();
  let isStopped = false;

  async function attempt(product: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      log.warn({ err: error, product }, 'the directory of its stamps is behind, and is made later: until then its lists are slower');
      unmarked.set(product, blockSize);
      extendLater();
    }
  }

  function extendLater(): void {
    if (isStopped) return;
    timer ??= setTimeout(() => {
      extending = extendAll();
    }, extendAfterMs).unref();
  }

  async function extendAll(): Promise<void> {
    timer = undefined;
    for (const [product, count] of [...unmarked]) {
      if (count < blockSize) continue;
      unmarked.delete(product);
      await attempt(product, () => directory.extend(product));
    }
  }

  return {
    wrote: async (stamps) => {
      // The list of all imprints has no marks.
      const marked = stamps.filter(({ imprint }) => imprint.algorithm === 'sha256');
      const byProduct = Map.groupBy(marked, ({ caller }) => caller.product);
      byProduct.delete(undefined);
      for (const [product = '', ofProduct] of byProduct) {
        const count = (unmarked.get(product) ?? 0) + ofProduct.length;
        unmarked.set(product, count);
        if (count >= blockSize) extendLater();
        await directory.wrote(
          product,
          ofProduct.map(({ tokenId }) => tokenId),
        );
      }
    },
    start: async (products) => {
      for (const product of new Set(products)) {
        if (isStopped) return;
        await attempt(product, async () => {
          const total = await counters.productTotal(product);
          await (total < few ? directory.begin(product) : directory.extend(product));
        });
      }
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      return extending;
    },
  };
}
