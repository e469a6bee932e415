import { setTimeout as delay } from 'node:timers/promises';
import type { VerificationResult } from '../../shared/contract/verify.ts';
import { timeOfId } from '../../shared/domain/stamp.ts';
import type { VerificationTools } from './stamp-judge.ts';
import { isUnknownId, verifyById } from './verification.ts';

/**
 * Waits until a stamp is stored or the time is up, then verifies it by its id (N1). `hasLeft`: whether the client has closed the connection.
 *
 * @throws ServiceError `store_unavailable`
 */
type UntilKnown = (tokenId: string, waitSeconds: number, hasLeft: () => boolean) => Promise<VerificationResult>;

/** The longest wait, in seconds. */
const longestSeconds = 30;
/** The maximum number of waits in a process at once. Further requests are answered immediately. */
const mostWaiting = 512;
/** A wait makes sense only for an id that is younger than this: an older stamp is not expected any more. */
const youngMs = 24 * 3_600_000;

const firstLookMs = 50;
const longestLookMs = 500;

export function createOutcomeWait(tools: VerificationTools): UntilKnown {
  const { store, clock } = tools;
  let waiting = 0;

  async function untilThere(tokenId: string, until: number, hasLeft: () => boolean): Promise<void> {
    for (let lookMs = firstLookMs; performance.now() < until && !hasLeft(); lookMs = Math.min(lookMs * 1.5, longestLookMs)) {
      await delay(Math.min(lookMs, Math.max(1, until - performance.now())));
      if ((await store.stamps.find(tokenId)) !== null) return;
    }
  }

  return async (tokenId, waitSeconds, hasLeft) => {
    const result = await verifyById(tools, tokenId);
    const age = clock() - timeOfId(tokenId);
    const isExpected = isUnknownId(result) && age < youngMs && age > -youngMs;
    if (waitSeconds === 0 || !isExpected || waiting >= mostWaiting) return result;
    waiting += 1;
    try {
      await untilThere(tokenId, performance.now() + Math.min(waitSeconds, longestSeconds) * 1_000, hasLeft);
    } finally {
      waiting -= 1;
    }
    return verifyById(tools, tokenId);
  };
}
