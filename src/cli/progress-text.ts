/** How far some work is. */
export interface Progress {
  readonly done: number;
  /** Undefined if nobody knows how much there is to do, for example on standard input. */
  readonly total: number | undefined;
  readonly elapsedMs: number;
  /** Writes an amount, for example `3.0 GB`. */
  readonly amountText: (amount: number) => string;
}

/** The first estimates of the remaining time jump, so none is shown before this. */
const leastElapsedMs = 1_000;

/** `a.iso: 41 % of 3.0 GB, 12 s left`, or `a.iso: 1.2 GB` if the total is unknown. */
export function progressText(label: string, { done, total, elapsedMs, amountText }: Progress): string {
  if (total === undefined || total === 0) return `${label}: ${amountText(done)}`;
  const part = Math.min(1, done / total);
  const left = elapsedMs >= leastElapsedMs && part > 0 && part < 1 ? `, ${durationText((elapsedMs / part) * (1 - part))} left` : '';
  return `${label}: ${Math.floor(part * 100)} % of ${amountText(total)}${left}`;
}

/** `12 s`, `3 min 20 s`, `1 h 5 min`. */
function durationText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
