import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { TooLateError, within } from '../../shared/runtime/within.ts';

/** The time that a request has, measured with the monotonic clock, which cannot be set. */
export interface Deadline {
  /** When the request began, in milliseconds since the epoch. */
  readonly begunAt: number;
  leftMs(): number;
}

/** `spentMs`: the time that the request has spent before. */
export function startDeadline({ clock, waitMs, spentMs = 0 }: { clock: Clock; waitMs: number; spentMs?: number | undefined }): Deadline {
  const until = performance.now() + waitMs - spentMs;
  return { begunAt: clock() - spentMs, leftMs: () => Math.max(0, until - performance.now()) };
}

/** How much longer than the caller's wait the store may take, in milliseconds. The last look for the stamp may take as long again. */
const graceMs = 500;

/**
 * Returns what the store answers to a request. If that takes longer than the request has, and half a second, the answer is ignored.
 *
 * @throws ServiceError `store_unavailable` after the deadline, and the errors of `ask`
 */
export async function storeBefore<T>(deadline: Deadline, ask: () => Promise<T>): Promise<T> {
  try {
    return await within(deadline.leftMs() + graceMs, ask);
  } catch (error) {
    if (!(error instanceof TooLateError)) throw error;
    throw new ServiceError('store_unavailable', 'The store did not answer in time.', { retryAfterSeconds: 2 });
  }
}
