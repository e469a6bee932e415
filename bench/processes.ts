import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { processTree } from '../scripts/stack/run.ts';

export interface RunningProcesses {
  /** The URL in the ready message of the last process; empty if there is none. */
  readonly url: string;
  readonly pids: readonly number[];
  /** Ends the processes in reverse order. */
  stop(): Promise<void>;
}

/** The scripts of our worker and API. */
export const ours = ['src/workers/main.ts', 'src/api/main.ts'];

/** Ends a process by SIGTERM, and resolves when it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** Runs a program of another project. */
export function startProgram(program: string, args: readonly string[]): { stop(): Promise<void> } {
  const child = spawn(program, args, { stdio: 'ignore' });
  return { stop: () => end(child) };
}

interface ScriptOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** The folder to run in, for example another checkout. */
  readonly cwd?: string;
  /** Where its log goes. */
  readonly stdout?: 'inherit' | 'ignore';
}

/** Starts a script in its own process, and resolves when the script reports that it is ready. */
export async function startScript(
  script: string,
  args: readonly string[] = [],
  { env = process.env, cwd = process.cwd(), stdout = 'inherit' }: ScriptOptions = {},
): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [resolve(cwd, script), ...args], { env, cwd, stdio: ['ignore', stdout, 'inherit', 'ipc'] });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${script} ended with ${code}`))),
  ])) as [{ url?: string }];
  return { child, url: message.url ?? '' };
}

/** Starts scripts one after the other, each when the previous script is ready. They write their log, and nobody reads it. */
export async function startProcesses(
  scripts: readonly string[],
  env: NodeJS.ProcessEnv,
  options: Omit<ScriptOptions, 'env'> = {},
): Promise<RunningProcesses> {
  const started: Awaited<ReturnType<typeof startScript>>[] = [];
  for (const script of scripts) started.push(await startScript(script, [], { stdout: 'ignore', ...options, env }));
  return {
    url: started.at(-1)?.url ?? '',
    pids: started.flatMap(({ child }) => child.pid ?? []),
    stop: async () => {
      for (const { child } of started.toReversed()) await end(child);
    },
  };
}

/** The clock tick of Linux's /proc/…/stat: sysconf(_SC_CLK_TCK), 100 on every architecture that Node.js supports. */
const ticksPerSecond = 100;

/** The CPU seconds of a process and of its finished children (proc(5)); NaN if there is no such process. */
export function cpuSecondsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
  } catch {
    return Number.NaN;
  }
}

/** The CPU seconds of all processes below this process. Unlike a rate, this value hardly depends on other load of the machine. */
export const cpuSecondsBelow = (): number =>
  processTree(process.pid)
    .slice(1)
    .reduce((sum, pid) => sum + (cpuSecondsOf(pid) || 0), 0);
