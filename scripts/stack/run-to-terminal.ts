import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dieWithParent, sendSignal } from './process-group.ts';

const patienceMs = 10_000;

/**
 * Runs a command whose output is the terminal's and answers its exit code. An abort ends its whole group.
 *
 * @throws the reason of `signal` when that aborted it, after it has ended.
 */
export async function runToTerminal(
  command: string,
  args: readonly string[],
  { signal, env, cwd }: { signal: AbortSignal; env: NodeJS.ProcessEnv; cwd: string },
): Promise<number> {
  signal.throwIfAborted();
  const [file, wrapped] = dieWithParent(command, args);
  const child = spawn(file, wrapped, { cwd, env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  let killer: NodeJS.Timeout | undefined;
  const stop = () => {
    if (child.pid === undefined) return;
    const group = -child.pid;
    sendSignal(group, 'SIGTERM');
    killer = setTimeout(() => sendSignal(group, 'SIGKILL'), patienceMs);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = await once(child, 'close');
    signal.throwIfAborted();
    return code ?? 1;
  } finally {
    signal.removeEventListener('abort', stop);
    clearTimeout(killer);
  }
}
