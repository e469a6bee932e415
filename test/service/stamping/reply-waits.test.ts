import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createReplyWaits } from '../../../src/api/stamps/submission.ts';

afterEach(() => void vi.useRealTimers());

test('if the store hangs, a caller waits half a second longer than its time at most (E11)', async () => {
  vi.useFakeTimers();
  const waits = createReplyWaits(pino({ level: 'silent' }), () => new Promise<never>(() => {}));
  const ended = vi.fn();
  void waits.waitForAll(['a'], 10_000)[0]!.then(ended);
  await vi.advanceTimersByTimeAsync(10_499);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(5);
  expect(ended).toHaveBeenCalledWith({ reply: undefined, isAccepted: false });
  expect(waits.isWaitedFor('a')).toBe(false);
});
