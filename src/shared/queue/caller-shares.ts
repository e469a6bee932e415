import { ServiceError } from '../domain/service-error.ts';

/** Each caller may have this share of `QUEUE_MAX_DEPTH`. */
const shareOfCaller = 0.5;

/** Then a reply counts as lost. */
const lostAfterMs = 3_600_000;

/**
 * Counts the items that this API process has sent and no worker has answered, for each caller: a product, or an address. So one caller can
 * fill at most half of the queue through one API process (R7).
 */
export interface CallerShares {
  /** @throws ServiceError `rate_limited` if the caller would have too many unanswered items */
  check(callerId: string, items: number): void;
  add(callerId: string, tokenId: string): void;
  /** An item was answered, or it did not reach the queue. */
  settle(tokenId: string): void;
}

export function createCallerShares({ maxDepth }: { maxDepth: number }): CallerShares {
  const most = Math.ceil(maxDepth * shareOfCaller);
  /** The unanswered items, oldest first. */
  const unanswered = new Map<string, { readonly callerId: string; readonly since: number }>();
  const counts = new Map<string, number>();

  function settle(tokenId: string): void {
    const item = unanswered.get(tokenId);
    if (!item) return;
    unanswered.delete(tokenId);
    const left = (counts.get(item.callerId) ?? 1) - 1;
    if (left > 0) counts.set(item.callerId, left);
    else counts.delete(item.callerId);
  }

  function forgetLost(): void {
    const before = performance.now() - lostAfterMs;
    for (const [tokenId, { since }] of unanswered) {
      if (since > before) return;
      settle(tokenId);
    }
  }

  return {
    check: (callerId, items) => {
      forgetLost();
      if ((counts.get(callerId) ?? 0) + items <= most) return;
      const advice = items > most ? `this request has ${items}: send at most ${most} at once` : 'try again when some of them are finished';
      throw new ServiceError('rate_limited', `At most ${most} stamps of one caller may be unfinished at a time; ${advice}.`, {
        retryAfterSeconds: 5,
      });
    },
    add: (callerId, tokenId) => {
      if (unanswered.has(tokenId)) return;
      unanswered.set(tokenId, { callerId, since: performance.now() });
      counts.set(callerId, (counts.get(callerId) ?? 0) + 1);
    },
    settle,
  };
}
