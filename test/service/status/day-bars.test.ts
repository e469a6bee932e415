import { describe, expect, it } from 'vitest';
import { dayBars } from '../../../src/api/status/status-page.ts';

const time = '2026-03-02T23:59:59Z';

describe('bars of the status chart', () => {
  it('are the last 30 days in UTC, oldest first, with a gap for empty days', () => {
    const { bars } = dayBars([{ date: '2026-03-02', stamps: 10, failed: 0 }], time);
    expect(bars).toHaveLength(30);
    expect(bars[0]).toMatchObject({ date: '2026-02-01', stamps: 0, failed: 0 });
    expect(bars.at(-1)).toMatchObject({ date: '2026-03-02', stamped: { y: 0, height: 120 } });
  });

  it('show failed above stamped; the busiest day has the full height', () => {
    const days = [
      { date: '2026-03-01', stamps: 10, failed: 10 },
      { date: '2026-03-02', stamps: 5, failed: 0 },
      { date: '2020-01-01', stamps: 9_999, failed: 0 },
    ];
    const { bars, scale } = dayBars(days, time);
    expect(scale).toBe(20);
    expect(bars.at(-2)).toMatchObject({ stamped: { y: 60, height: 60 }, rejected: { y: 0, height: 60 } });
    expect(bars.at(-1)).toMatchObject({ stamped: { y: 90, height: 30 }, rejected: { height: 0 } });
  });

  it('are flat when there is nothing to show', () => {
    const { bars, scale } = dayBars([], time);
    expect(scale).toBe(1);
    expect(bars.every(({ stamped, rejected }) => stamped.height === 0 && rejected.height === 0)).toBe(true);
  });
});
