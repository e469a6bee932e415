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
    const parent = parentOf(Number(entry));
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]);
  } catch (error) {
    // It ended between the listing and the reading.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
