import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createReplyWaiter } from '../../../src/api/stamps/reply-waiter.ts';

afterEach(() => void vi.useRealTimers());

test('if the store hangs, a caller waits half a second longer than its time at most (E11)', async () => {
  vi.useFakeTimers();
  const waiter = createReplyWaiter({ findStored: () => new Promise(() => {}), log: pino({ level: 'silent' }) });
  const ended = vi.fn();
  void waiter.waitForAll(['a'], 10_000)[0]!.then(ended);
  await vi.advanceTimersByTimeAsync(10_499);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toHaveBeenCalledWith({ reply: undefined, isAccepted: false });
  expect(waiter.isWaitedFor('a')).toBe(false);
});
