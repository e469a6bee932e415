/**
 * The bars of the last `length` days up to the day of `time` (RFC 3339, UTC), oldest first. A missing day counts as zero. `scale` is the number of
 * stamps at full height: the number of the busiest day, at least 1.
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

export interface DayFigures {
  /** `2026-11-21`, in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
}

/** A bar of the chart, in the units of its view box. The part for failed stamps (`rejected`) is on top of the part for made stamps (`stamped`). */
export interface DayBar extends DayFigures {
  readonly x: number;
  readonly width: number;
  readonly stamped: { readonly y: number; readonly height: number };
  readonly rejected: { readonly y: number; readonly height: number };
}

const dayMs = 86_400_000;
