import type { DayFigures } from '../services/status.ts';

/** A bar of the chart in the units of its view box; `failed` lies on top of `stamped`. */
export interface DayBar extends DayFigures {
  readonly x: number;
  readonly width: number;
  readonly stamped: { readonly y: number; readonly height: number };
  readonly rejected: { readonly y: number; readonly height: number };
}

const dayMs = 86_400_000;

/**
 * The bars of the last `length` days that end with the day of `time` (RFC 3339, UTC), oldest first; a day without figures is a day
 * with none. `scale` is what the full height stands for: the busiest day, at least 1.
 */
export function dayBars(
  days: readonly DayFigures[],
  { time, length, width, height }: { time: string; length: number; width: number; height: number },
): { bars: DayBar[]; scale: number } {
  const figures = new Map(days.map((day) => [day.date, day]));
  const today = Date.parse(`${time.slice(0, 10)}T00:00:00Z`);
  const shown = Array.from({ length }, (_, i): DayFigures => {
    const date = new Date(today - (length - 1 - i) * dayMs).toISOString().slice(0, 10);
    return figures.get(date) ?? { date, stamps: 0, failed: 0 };
  });
  const scale = Math.max(1, ...shown.map(({ stamps, failed }) => stamps + failed));
  const step = width / length;
  const round = (value: number): number => Math.round(value * 100) / 100;
  const bars = shown.map((day, i): DayBar => {
    const stampedHeight = round((day.stamps / scale) * height);
    const failedHeight = round((day.failed / scale) * height);
    return {
      ...day,
      x: round(i * step + step * 0.15),
      width: round(step * 0.7),
      stamped: { y: round(height - stampedHeight), height: stampedHeight },
      rejected: { y: round(height - stampedHeight - failedHeight), height: failedHeight },
    };
  });
  return { bars, scale };
}
