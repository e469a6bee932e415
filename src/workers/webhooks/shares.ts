import type { Clock } from '../../shared/runtime/clock.ts';

/** A product gets a quarter of a worker's places for webhooks, and one host a quarter of its product's share. */
const quarterOf = (places: number) => Math.ceil(places / 4);

/** A webhook without a place asks again after this pause, or later if many wait: those of one product ask a hundred times a second. */
const shortestPauseMs = 1_000;
const betweenAsksMs = 10;

interface Share {
  underWay: number;
  /** How many of these go to each host. */
  readonly atHost: Map<string, number>;
  /** When the last of those that wait asks again. */
  lastAskAt: number;
}

/** One delivery occupies a place until it is released, once. */
export interface Place {
  release(): void;
}

export interface Shares {
  /** A place for one delivery, or after how many milliseconds the webhook asks again. */
  take(product: string, host: string): Place | { readonly waitMs: number };
}

/**
 * Counts the deliveries under way in this worker, so that hanging receivers of one product never take all places (N5). There are as many shares as
 * products have service tokens, so none is ever removed.
 */
export function createShares({ places, clock }: { places: number; clock: Clock }): Shares {
  const mostOfProduct = quarterOf(places);
  const mostAtHost = quarterOf(mostOfProduct);
  const shares = new Map<string, Share>();

  return {
    take: (product, host) => {
      const share = shares.get(product) ?? { underWay: 0, atHost: new Map(), lastAskAt: 0 };
      shares.set(product, share);
      const atHost = share.atHost.get(host) ?? 0;
      if (share.underWay >= mostOfProduct || atHost >= mostAtHost) {
        share.lastAskAt = Math.max(clock() + shortestPauseMs, share.lastAskAt + betweenAsksMs);
        return { waitMs: share.lastAskAt - clock() };
      }
      share.underWay += 1;
      share.atHost.set(host, atHost + 1);
      return {
        release: () => {
          share.underWay -= 1;
          const left = share.atHost.get(host)! - 1;
          if (left > 0) share.atHost.set(host, left);
          else share.atHost.delete(host);
        },
      };
    },
  };
}
