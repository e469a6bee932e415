import { afterEach, expect, test, vi } from 'vitest';
import { createJobsUnderWay } from '../../../src/shared/queue/jobs-under-way.ts';

afterEach(() => vi.useRealTimers());

/** What it has resolved to by now. */
const roomNow = async (promise: Promise<string>): Promise<string> => {
  let room = 'waiting';
  promise.then((resolved) => (room = resolved));
  await vi.advanceTimersByTimeAsync(0);
  return room;
};

test('there is room until so many jobs are under way, and again when one of them has ended, well or not', async () => {
  vi.useFakeTimers();
  const underWay = createJobsUnderWay({ most: 2, patienceMs: 20 });
  const [first, second, third] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  underWay.begin(first.promise);
  expect(await roomNow(underWay.room())).toBe('free');
  underWay.begin(second.promise);
  const waiting = underWay.room();
  expect(await roomNow(waiting)).toBe('waiting');
  first.reject(new Error('the job failed'));
  expect(await roomNow(waiting)).toBe('ended');
  underWay.begin(third.promise);
  const another = underWay.room();
  expect(await roomNow(another)).toBe('waiting');
  second.resolve();
  expect(await roomNow(another)).toBe('ended');
});

test('slow jobs keep nobody waiting for longer than patience allows', async () => {
  vi.useFakeTimers();
  const underWay = createJobsUnderWay({ most: 1, patienceMs: 20 });
  underWay.begin(Promise.withResolvers<void>().promise);
  const waiting = underWay.room();
  await vi.advanceTimersByTimeAsync(19);
  expect(await roomNow(waiting)).toBe('waiting');
  await vi.advanceTimersByTimeAsync(1);
  expect(await roomNow(waiting)).toBe('late');
});
