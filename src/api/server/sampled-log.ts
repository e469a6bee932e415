/** How many lines of one kind are logged in a second. Further lines are only counted. */
const mostPerSecond = 20;

interface Second {
  endsAt: number;
  logged: number;
  unlogged: number;
}

/**
 * Keeps a flood of refusals out of the log: a log line costs as much as the refusal itself. It calls `write` for the first lines of a kind
 * in each second, with the number of lines left out since the last call.
 */
export type SampledLog = (kind: string | number, write: (left: { unlogged?: number }) => void) => void;

/** There are only a few values of `kind`, such as a status or a code. */
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
