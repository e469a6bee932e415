import { existsSync, readdirSync, readFileSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/** Wraps a command so that the kernel ends it when we die, however we die (Linux; elsewhere it is left as it is). */
export function dieWithParent(command: string, args: readonly string[], signal = 'SIGTERM'): [command: string, args: string[]] {
  if (process.platform !== 'linux' || !existsSync(setpriv)) return [command, [...args]];
  return [setpriv, ['--pdeathsig', signal, '--', command, ...args]];
}

/** Sends a signal; answers false when there is no such process any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** The process and everything below it, parents first (Linux: from /proc; elsewhere only the process itself). */
export function processTree(root: number): number[] {
  if (process.platform !== 'linux') return [root];
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = readStat(Number(entry))?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** State (`Z`: dead, not yet reaped) and parent of a process; undefined when it is gone. */
function readStat(pid: number): { state: string; parent: number } | undefined {
  try {
    const [state = '', parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return { state, parent: Number(parent) };
  } catch (error) {
    // It ended between the listing and the reading.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** False when the process is gone, or dead and only waits to be reaped (in a container nobody may ever do that). */
export function isAlive(pid: number): boolean {
  if (process.platform !== 'linux') return sendSignal(pid, 0);
  const stat = readStat(pid);
  return stat !== undefined && stat.state !== 'Z';
}
