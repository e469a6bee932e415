import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { type TimeReading, TimeServerError, watchClock } from '../../../src/workers/providers/key/clock-watch.ts';
import { TimeUnavailableError } from '../../../src/workers/providers/provider.ts';

const log = createLogger({ level: 'silent', process: 'worker' });
const minute = 60_000;

/** A clock whose time servers report their offset from the true time. It follows the fake timers. */
function lab(offsets: readonly (number | undefined)[], delayMs = 4) {
  let driftMs = 0;
  const time = { wall: () => Date.now() + driftMs, steady: () => performance.now() };
  const said: (number | undefined | Error)[] = [...offsets];
  const asked: number[] = said.map(() => 0);
  const askServer = async ({ name }: { name: string }): Promise<TimeReading> => {
    const index = Number(name);
    asked[index]! += 1;
    const ahead = said[index];
    if (ahead instanceof Error) throw ahead;
    if (ahead === undefined) throw new TimeServerError('it does not answer');
    return { offsetMs: Date.now() + ahead - time.wall(), delayMs };
  };
  const servers = offsets.map((_, index) => ({ name: String(index), host: 'x', port: 123 }));
  const watch = watchClock({ provider: 'own', servers, maxDriftMs: 1_000, time, askServer, log });
  return {
    watch,
    said,
    asked,
    setClock: (ms: number) => {
      driftMs = ms;
    },
    /** Answer of a TSA whose clock is this far ahead of the true time. */
    tsaSays: (aheadMs: number, uncertaintyMs = 0, name = 'tsa') =>
      watch.noteTsaTime({
        name,
        genTimeMs: Date.now() + aheadMs,
        uncertaintyMs,
        sentAtMs: time.wall() - 10,
        receivedAtMs: time.wall() + 10,
      }),
  };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const settled = () => vi.advanceTimersByTimeAsync(1);

describe('the clock of an own key', () => {
  test.each([
    ['off', 1_003, 4],
    ['off', -86_400_000, 4],
    ['ok', 997, 4],
    ['ok', -997, 4],
    // The uncertainty grows with the delay of the answer: only a sure match within the drift confirms the clock.
    ['ok', 49, 1_900],
    ['unknown', 51, 1_900],
    ['unknown', -1_900, 1_900],
    ['off', -1_960, 1_900],
    ['unknown', 0, 2_001],
  ] as const)('is %s if its time server is %d ms ahead and answers after %d ms', async (state, ahead, delayMs) => {
    const { watch } = lab([ahead], delayMs);
    await settled();
    expect(watch.read().state).toBe(state);
    if (delayMs === 4) expect(watch.read().driftMs).toBeCloseTo(-ahead, 0);
    if (state === 'ok') await watch.confirm();
    else await expect(watch.confirm()).rejects.toThrow(TimeUnavailableError);
  });

  test('is unconfirmed until a time server answers, when the process has just started', async () => {
    const { watch } = lab([undefined]);
    expect(watch.read().state).toBe('unknown');
    await expect(watch.confirm()).rejects.toThrow('no source has confirmed the clock');
    const { watch: other } = lab([0]);
    await other.confirm();
  });

  test('is noticed when set while the service runs, before the next question', async () => {
    const { watch, setClock } = lab([0]);
    await settled();
    setClock(5_000);
    await expect(watch.confirm()).rejects.toThrow('the clock is off by 5000 ms; 1000 ms are allowed');
    setClock(0);
    await watch.confirm();
  });

  test('is checked every 64 s, and every 16 s while it is not confirmed (RFC 4330 §10)', async () => {
    const { watch, said, asked } = lab([0]);
    await vi.advanceTimersByTimeAsync(63_000);
    expect(asked).toEqual([1]);
    said[0] = 7_000;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([asked[0], watch.read().state]).toEqual([2, 'off']);
    said[0] = 0;
    await vi.advanceTimersByTimeAsync(16_000);
    expect([asked[0], watch.read().state]).toEqual([3, 'ok']);
  });

  test('stays confirmed for an hour when its time servers fall silent', async () => {
    const { watch, said } = lab([0]);
    await settled();
    said[0] = undefined;
    await vi.advanceTimersByTimeAsync(59 * minute);
    expect(watch.read().state).toBe('ok');
    await vi.advanceTimersByTimeAsync(2 * minute);
    expect(watch.read()).toEqual({ state: 'unknown', driftMs: null });
  });

  test('follows the majority of time servers; a tie means not confirmed', async () => {
    const { watch } = lab([0, 0, 9_000]);
    await settled();
    expect(watch.read().state).toBe('ok');
    const { watch: split } = lab([0, 9_000]);
    await settled();
    expect(split.read().state).toBe('off');
  });

  test('uses every answer of another TSA as a second opinion', async () => {
    const { watch, tsaSays } = lab([0]);
    await settled();
    tsaSays(30_000);
    expect(watch.read().state).toBe('off');
    tsaSays(100);
    expect(watch.read().state).toBe('ok');
    const { watch: silent, tsaSays: other } = lab([undefined]);
    await settled();
    other(100);
    expect(silent.read().state).toBe('ok');
  });

  test('can be refuted, but not confirmed, by a TSA whose times are in minutes', async () => {
    const { watch, tsaSays } = lab([undefined]);
    await settled();
    tsaSays(0, 60_000);
    expect(watch.read().state).toBe('unknown');
    tsaSays(70_000, 60_000);
    expect(watch.read().state).toBe('off');
  });

  test('leaves a time server alone for an hour on its request (RFC 4330 §8)', async () => {
    const { asked, said } = lab([0, 0]);
    said[1] = new TimeServerError('it asks clients to stop (DENY)', { isUnwelcome: true });
    await settled();
    const before = asked[1];
    await vi.advanceTimersByTimeAsync(58 * minute);
    expect(asked[1]! - before!).toBeLessThanOrEqual(1);
    expect(asked[0]).toBeGreaterThan(50);
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(asked[1]! - before!).toBeGreaterThanOrEqual(1);
  });
});
