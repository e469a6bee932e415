import type { Clock } from '../../shared/runtime/clock.ts';

/** A product gets a quarter of a worker's places for webhooks, and one host a quarter of its product's share. */
const quarterOf = (places: number) => Math.ceil(places / 4);

/** A webhook without a place asks again after this pause, or later if many wait: those of one product ask together a hundred times a second. */
const shortestPauseMs = 1_000;
const betweenAsksMs = 10;

interface Share {
  underWay: number;
  /** The number of these for each host. */
  readonly atHost: Map<string, number>;
  /** When the last waiting webhook asks again. */
  lastAskAt: number;
}

/** A delivery's place. Released once. */
export interface Place {
  release(): void;
}

export interface Shares {
  /** A place for one delivery, or the milliseconds until the webhook asks again. */
  take(product: string, host: string): Place | { readonly waitMs: number };
}

/**
 * Counts the current deliveries of this worker, so that hanging receivers of one product never take all places (N5). There is one share per product
 * with a service token, so none is ever removed.
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
