import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

export interface RunningProcesses {
  /** What the last one says of where it listens; empty if it does not. */
  readonly url: string;
  readonly pids: readonly number[];
  /** Ends them in reverse order. */
  stop(): Promise<void>;
}

/** The worker and the API as they are. */
export const ours = ['src/workers/main.ts', 'src/api/main.ts'];

/** Runs a program of somebody else; ended by SIGTERM. */
export function startProgram(program: string, args: readonly string[]): { stop(): Promise<void> } {
  const child = spawn(program, args, { stdio: 'ignore' });
  return {
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Runs scripts one after the other, each when the one before says that it is ready; `cwd`: those of another checkout. */
export async function startProcesses(
  scripts: readonly string[],
  environment: NodeJS.ProcessEnv,
  cwd = process.cwd(),
): Promise<RunningProcesses> {
  const children: ChildProcess[] = [];
  let url = '';
  for (const script of scripts) {
    const child = fork(resolve(cwd, script), { env: environment, execArgv: [], cwd });
    const [message] = (await once(child, 'message')) as [{ url?: string }];
    children.push(child);
    url = message.url ?? '';
  }
  return {
    url,
    pids: children.flatMap(({ pid }) => pid ?? []),
    stop: async () => {
      for (const child of children.toReversed()) {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        await exited;
      }
    },
  };
}
