import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCountsUnderWay } from '../../../src/api/services/counts-under-way.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Whether it is settled by now. */
async function isSettled(settling: Promise<void>): Promise<boolean> {
  let isDone = false;
  void settling.then(() => {
    isDone = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return isDone;
}

test('S12: who asks for a count waits for all that was answered before, and for nothing that comes later', async () => {
  const counts = createCountsUnderWay();
  expect(await isSettled(counts.settled())).toBe(true);
  counts.begin('a');
  counts.begin('b');
  const settling = counts.settled();
  counts.begin('c');
  counts.end('a');
  expect(await isSettled(settling)).toBe(false);
  counts.end('b');
  expect([await isSettled(settling), await isSettled(counts.settled())]).toEqual([true, false]);
});

test('S12: a job whose worker was lost is waited for until it must have been done again, eight seconds from its answer on', async () => {
  const counts = createCountsUnderWay();
  counts.begin('lost');
  await vi.advanceTimersByTimeAsync(5_000);
  // Answered once more, by the worker that does it again.
  counts.begin('lost');
  const settling = counts.settled();
  await vi.advanceTimersByTimeAsync(2_990);
  expect(await isSettled(settling)).toBe(false);
  await vi.advanceTimersByTimeAsync(20);
  expect([await isSettled(settling), await isSettled(counts.settled())]).toEqual([true, true]);
  counts.end('lost');
  counts.end('never heard of');
});
