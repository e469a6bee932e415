import type { Clock } from '../../shared/runtime/clock.ts';

/** A product may use at most a quarter of a worker's places for webhooks, and each host at most a quarter of its product's places. */
const quarterOf = (places: number) => Math.ceil(places / 4);

/**
 * A webhook without a place asks again after this pause, or later if many wait: all webhooks of one product together ask at most 100 times a second.
 */
const shortestPauseMs = 1_000;
const betweenAsksMs = 10;

interface Share {
  underWay: number;
  /** The number of deliveries in progress for each host. */
  readonly atHost: Map<string, number>;
  /** The latest time at which a waiting webhook asks again, by the monotonic clock. */
  lastAskAt: number;
}

/** The place of one delivery. Call `release` exactly once. */
export interface Place {
  release(): void;
}

interface Shares {
  /** Returns a place for one delivery, or the milliseconds after which the webhook should ask again. */
  take(product: string, host: string): Place | { readonly waitMs: number };
}

/**
 * Counts the current deliveries of this worker, so that one product's receivers that do not answer never take all places (N5). Shares are never
 * removed: there is at most one for each product with a service token.
 */
export function createShares({ places, monotonic }: { places: number; monotonic: Clock }): Shares {
  const mostOfProduct = quarterOf(places);
  const mostAtHost = quarterOf(mostOfProduct);
  const shares = new Map<string, Share>();

  return {
    take: (product, host) => {
      const share = shares.get(product) ?? { underWay: 0, atHost: new Map(), lastAskAt: 0 };
      shares.set(product, share);
      const atHost = share.atHost.get(host) ?? 0;
      if (share.underWay >= mostOfProduct || atHost >= mostAtHost) {
        share.lastAskAt = Math.max(monotonic() + shortestPauseMs, share.lastAskAt + betweenAsksMs);
        return { waitMs: Math.ceil(share.lastAskAt - monotonic()) };
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
