import { afterEach, expect, test, vi } from 'vitest';
import { inStore } from '../../../src/shared/store/connection.ts';

afterEach(() => void vi.useRealTimers());

test('an operation that the driver never ends counts as a store that is away after 20 s, not as a hang (E10)', async () => {
  vi.useFakeTimers();
  const outcome = inStore(() => new Promise(() => {})).catch((error: unknown) => error);
  const ended = vi.fn();
  void outcome.then(ended);
  await vi.advanceTimersByTimeAsync(19_999);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(5);
  expect(await outcome).toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 2 });
});

test('an operation that ends leaves no timer behind', async () => {
  vi.useFakeTimers();
  expect(await inStore(async () => 'stored')).toBe('stored');
  expect(vi.getTimerCount()).toBe(0);
});
