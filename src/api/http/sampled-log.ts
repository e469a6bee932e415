/** The maximum number of lines of one kind that are logged in a second. Further lines are only counted. */
const mostPerSecond = 20;

interface Second {
  endsAt: number;
  logged: number;
  unlogged: number;
}

/**
 * Logs only some lines of a flood, because a log line costs as much time as a refusal. It calls `write` for the first lines of a kind in each second,
 * with the number of lines that were left out since the last call.
 */
type SampledLog = (kind: string | number, write: (left: { unlogged?: number }) => void) => void;

/** Creates a sampled log. Use it only with few different values of `kind`, for example statuses or codes, because each stays in memory. */
export function createSampledLog(now: () => number = () => performance.now()): SampledLog {
  const seconds = new Map<string | number, Second>();
  return (kind, write) => {
    const second = seconds.get(kind) ?? { endsAt: 0, logged: 0, unlogged: 0 };
    seconds.set(kind, second);
    if (now() >= second.endsAt) {
      second.endsAt = now() + 1_000;
      second.logged = 0;
    }
    if (second.logged >= mostPerSecond) {
      second.unlogged += 1;
      return;
    }
    second.logged += 1;
    const { unlogged } = second;
    second.unlogged = 0;
    write(unlogged > 0 ? { unlogged } : {});
  };
}
