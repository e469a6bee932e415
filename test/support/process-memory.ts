import { readFileSync } from 'node:fs';

const mebibytesOf = (pid: number, line: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`${line}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** The most memory that a process has held so far, in MiB; Linux. */
export const peakMebibytes = (pid: number): number => mebibytesOf(pid, 'VmHWM');

/** The memory that a process holds now, in MiB; Linux. */
export const heldMebibytes = (pid: number): number => mebibytesOf(pid, 'VmRSS');
