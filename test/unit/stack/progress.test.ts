import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProgress, StepError } from '../../../scripts/stack/progress.mjs';

let lines: string[];
const progress = createProgress((line) => void lines.push(line));

beforeEach(() => {
  lines = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a step of two seconds or less says nothing', async () => {
  const step = progress.step('Baking', () => new Promise<string>((resolve) => setTimeout(resolve, 1999, 'cake')));
  await vi.advanceTimersByTimeAsync(1999);
  expect(await step).toBe('cake');
  expect(lines).toEqual([]);
});

test('a longer step tells what it does, how far it is, and when it is done', async () => {
  const step = progress.step('Baking', ({ update }) => {
    update('1 of 3 cakes');
    setTimeout(update, 6000, '2 of 3 cakes');
    return new Promise((resolve) => setTimeout(resolve, 8000));
  });
  await vi.advanceTimersByTimeAsync(8000);
  await step;
  expect(lines).toEqual(['  Baking … 2 s, 1 of 3 cakes', '  Baking … 7 s, 2 of 3 cakes', '  Baking: done in 8 s']);
});

test('a failing step throws and falls silent', async () => {
  const step = progress.step('Baking', () => Promise.reject(new StepError('Baking', 'the oven is off', 'switch it on')));
  await expect(step).rejects.toThrow('Baking failed\n  why:        the oven is off\n  what to do: switch it on');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines).toEqual([]);
});
