import { afterEach, expect, test, vi } from 'vitest';
import { createJobsUnderWay } from '../../../src/shared/queue/jobs-under-way.ts';

afterEach(() => vi.useRealTimers());

const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let isSettled = false;
  promise.then(() => (isSettled = true));
  await vi.advanceTimersByTimeAsync(0);
  return isSettled;
};

test('there is room until so many jobs are under way, and again when one of them has ended, well or not', async () => {
  vi.useFakeTimers();
  const underWay = createJobsUnderWay({ most: 2, patienceMs: 20 });
  const [first, second, third] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  underWay.begin(first.promise);
  expect(await settled(underWay.room())).toBe(true);
  underWay.begin(second.promise);
  const waiting = underWay.room();
  expect(await settled(waiting)).toBe(false);
  first.reject(new Error('the job failed'));
  expect(await settled(waiting)).toBe(true);
  underWay.begin(third.promise);
  const another = underWay.room();
  expect(await settled(another)).toBe(false);
  second.resolve();
  expect(await settled(another)).toBe(true);
});

test('slow jobs keep nobody waiting for longer than patience allows', async () => {
  vi.useFakeTimers();
  const underWay = createJobsUnderWay({ most: 1, patienceMs: 20 });
  underWay.begin(Promise.withResolvers<void>().promise);
  const waiting = underWay.room();
  await vi.advanceTimersByTimeAsync(19);
  expect(await settled(waiting)).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await settled(waiting)).toBe(true);
});
