import { expect, test } from 'vitest';
import { retryDelayMs } from '../../../src/shared/queue/open-queue.ts';

const hourMs = 3_600_000;
const delays = (kind: string | undefined, random: number) => Array.from({ length: 60 }, (_, i) => retryDelayMs(i + 1, kind, random));

test.each([
  [undefined, 200, 5_000],
  ['workflow-completion', 200, 60_000],
  ['otp-mail', 1_000, 300_000],
  ['completion-mail', 1_000, 300_000],
])('retries of %s double from %i ms up to %i ms, half of it random', (kind, first, longest) => {
  expect(delays(kind, 1).slice(0, 3)).toEqual([first, 2 * first, 4 * first]);
  expect(delays(kind, 1).at(-1)).toBe(longest);
  expect(delays(kind, 0)).toEqual(delays(kind, 1).map((delay) => delay / 2));
});

test('W12: a mail is tried at least fifteen times within its hour, with any random delays', () => {
  const due = delays('otp-mail', 1).map((_, index, all) => all.slice(0, index + 1).reduce((sum, delay) => sum + delay));
  const tries = due.findIndex((passed) => passed > hourMs);
  expect(tries).toBeGreaterThanOrEqual(15);
});
