import { readdirSync, readFileSync } from 'node:fs';

/** The clock tick of Linux's /proc/…/stat: sysconf(_SC_CLK_TCK), 100 on every architecture that Node runs on. */
const ticksPerSecond = 100;

interface ProcessTimes {
  readonly parent: number;
  readonly seconds: number;
}

/** proc(5): the second field, the name in brackets, may hold anything. */
function timesOf(pid: string): ProcessTimes | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15).map(Number);
    return { parent: Number(fields[1]), seconds: (user + system + childrenUser + childrenSystem) / ticksPerSecond };
  } catch {
    return undefined;
  }
}

/**
 * Seconds of CPU that all processes below this one have used, on Linux; NaN elsewhere. Unlike a rate it hardly depends on what else runs on
 * the machine.
 */
export function cpuSecondsBelow(): number {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return Number.NaN;
  }
  const known = new Map(pids.flatMap((pid) => [[Number(pid), timesOf(pid)] as const]));
  const isBelow = (pid: number): boolean => {
    const parent = known.get(pid)?.parent;
    return parent !== undefined && (parent === process.pid || isBelow(parent));
  };
  return [...known].reduce((sum, [pid, times]) => (times && isBelow(pid) ? sum + times.seconds : sum), 0);
}
