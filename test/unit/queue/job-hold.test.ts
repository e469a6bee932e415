import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createHold } from '../../../src/shared/queue/job-hold.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A lock that is lost after so many extensions. */
function startHold({ takenAt = Date.now(), extensions = Number.POSITIVE_INFINITY }) {
  let asked = 0;
  const isOurs = createHold(takenAt, 2_500, async () => {
    asked += 1;
    return asked <= extensions;
  });
  return { isOurs, asked: () => asked };
}

test('E11: a young job is ours; of an older one the lock is asked, once in a while', async () => {
  const { isOurs, asked } = startHold({ extensions: 2 });
  vi.advanceTimersByTime(2_400);
  expect([await isOurs(), asked()]).toEqual([true, 0]);
  vi.advanceTimersByTime(200);
  expect([await isOurs(), await isOurs(), asked()]).toEqual([true, true, 1]);
  vi.advanceTimersByTime(2_600);
  expect([await isOurs(), asked()]).toEqual([true, 2]);
  vi.advanceTimersByTime(2_600);
  expect([await isOurs(), await isOurs(), asked()]).toEqual([false, false, 4]);
});

test('E11: a worker that stood still before it read what job it got asks for the lock', async () => {
  const { isOurs, asked } = startHold({ takenAt: Date.now() - 8_000, extensions: 0 });
  expect([await isOurs(), asked()]).toEqual([false, 1]);
});

test('E11: a clock that was set back makes a job ours for no longer', async () => {
  const { isOurs, asked } = startHold({ takenAt: Date.now() + 3_600_000 });
  vi.advanceTimersByTime(2_600);
  expect([await isOurs(), asked()]).toEqual([true, 1]);
});

test('E11: a job does not stay young while the machine sleeps, though its clock for durations does', async () => {
  const { isOurs, asked } = startHold({});
  vi.setSystemTime(Date.now() + 20_000);
  expect([await isOurs(), asked()]).toEqual([true, 1]);
});
