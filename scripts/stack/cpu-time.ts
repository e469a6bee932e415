import { readFileSync } from 'node:fs';

/**
 * The CPU time, in seconds, of this process and of the processes that it started and that have ended (proc_pid_stat(5): fields 14 to 17, in ticks
 * of 10 ms). On systems other than Linux only that of this process.
 */
export function cpuSeconds(): number {
  if (process.platform !== 'linux') return process.cpuUsage().user / 1e6;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}
