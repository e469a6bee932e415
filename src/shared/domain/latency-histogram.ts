/**
 * Counts latencies in buckets, each a quarter wider than the one before. To count one is one increment, and percentiles of a day need no
 * scan. A percentile read from it is at most 25 % too high.
 */
const growth = 1.25;

/** The bucket of a latency in milliseconds: the least n with `growth ** n >= latencyMs`. */
export function bucketOf(latencyMs: number): number {
  return latencyMs <= 1 ? 0 : Math.ceil(Math.log(latencyMs) / Math.log(growth));
}

/**
 * The latency in whole milliseconds that the share `q` (0…1) of the counted ones does not exceed; null when none was counted.
 * `counts` maps a bucket to how often it occurred.
 */
export function quantile(counts: Readonly<Record<string, number>>, q: number): number | null {
  const buckets = Object.entries(counts)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket);
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  const reached = buckets.find(({ count }) => {
    seen += count;
    return seen >= q * total;
  });
  return Math.ceil(growth ** (reached?.bucket ?? 0));
}
