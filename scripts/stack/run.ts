import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

// Runs commands to their end. For servers that keep running, see `createServerProcess`.

/** How long a command may take to end after an abort, before it is killed. */
const patienceMs = 10_000;
const setpriv = '/usr/bin/setpriv';

/** A command failed. `output` contains the last lines of its output. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly output: string;
  constructor(message: string, output: string) {
    super(output ? `${message}:\n${output}` : message);
    this.output = output;
  }
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The standard input of the command. */
  readonly input?: string;
  /** `output`: the command prints to our terminal. `input`: it may also read from the terminal, for example a password. */
  readonly terminal?: 'output' | 'input';
  /** True if an abort only asks the command to end (SIGINT) and waits for it. Needed for dpkg, which must not be killed while it writes. */
  readonly endsGently?: boolean;
  /** Called with each line of stdout and stderr. */
  readonly onLine?: ((line: string) => void) | undefined;
}

export interface Outcome {
  /** The exit code; null if a signal ended the command. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams in order of arrival. */
  readonly output: string;
}

/**
 * Runs a command to its end, and resolves also if it fails. An abort ends the command with all its children.
 *
 * @throws CommandError if it cannot be started; the reason of `signal` after an abort, once the command has ended
 */
export async function runToEnd(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { signal, input, terminal, endsGently = false, onLine } = options;
  signal?.throwIfAborted();
  const stdin = terminal === 'input' ? 'inherit' : input === undefined ? 'ignore' : 'pipe';
  const out = terminal === 'output' ? 'inherit' : 'pipe';
  const child = spawn(...dieWithParent(command, args), {
    cwd: options.cwd,
    env: options.env ?? process.env,
    // A command that reads from the terminal must stay in the terminal's process group.
    detached: terminal !== 'input',
    stdio: [stdin, out, out],
  });
  child.stdin?.on('error', () => undefined).end(input);
  const said = { stdout: '', stderr: '', output: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      said.output += text;
    });
    if (onLine && child[name]) createInterface({ input: child[name] }).on('line', onLine);
  }
  const { pid } = child;
  let killer: NodeJS.Timeout | undefined;
  const stop = () => {
    if (pid === undefined) return;
    if (endsGently || terminal === 'input') return void sendSignal(pid, 'SIGINT');
    sendSignal(-pid, 'SIGTERM');
    killer = setTimeout(() => sendSignal(-pid, 'SIGKILL'), patienceMs);
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    child.once('error', (error) => reject(new CommandError(`${command} could not be started: ${error.message}`, '')));
    child.once('close', resolve);
    const code = await promise;
    signal?.throwIfAborted();
    return { code, ...said };
  } finally {
    signal?.removeEventListener('abort', stop);
    clearTimeout(killer);
  }
}

/**
 * Runs a command that must succeed, and returns its standard output without the last line break.
 *
 * @throws CommandError if it cannot be started, or if its exit code is not 0, with the last `keepLines` lines of its output; the reason of `signal`
 *   after an abort
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  { keepLines = 15, ...options }: RunOptions & { readonly keepLines?: number } = {},
): Promise<string> {
  const { code, stdout, output } = await runToEnd(command, args, options);
  if (code !== 0)
    throw new CommandError(`${command} ended with ${code === null ? 'a signal' : `code ${code}`}`, lastLines(output, keepLines));
  return stdout.replace(/\n$/, '');
}

export const lastLines = (text: string, count: number): string => text.trimEnd().split('\n').slice(-count).join('\n');

/** The path of a program on PATH; undefined if it is not there. */
export function findProgram(name: string, { PATH = '' }: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = PATH.split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** The version in the output of `<program> <arguments>`, and whether it is at least `oldest`. */
export async function findVersion(
  program: string,
  oldest: readonly [major: number, minor: number],
  { signal }: { readonly signal: AbortSignal },
  args: readonly string[] = ['--version'],
): Promise<{ text: string; usable: boolean }> {
  const [text = 'of unknown version', major, minor] = /(\d+)\.(\d+)(?:\.\d+)*/.exec(await runCommand(program, args, { signal })) ?? [];
  return { text, usable: Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]) };
}

/** Wraps a command so that the kernel ends it when we end, even after a SIGKILL. Only on Linux; on other systems the command is unchanged. */
export function dieWithParent(command: string, args: readonly string[]): [command: string, args: string[]] {
  if (process.platform !== 'linux' || !existsSync(setpriv)) return [command, [...args]];
  return [setpriv, ['--pdeathsig', 'SIGTERM', '--', command, ...args]];
}

/** Sends a signal to a process. Returns false if the process does not exist or we may not send it signals. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** The state and the parent of a process; undefined if it is gone. State `Z`: the process has ended, but its parent has not noticed that yet. */
function readStat(pid: number): { state: string; parent: number } | undefined {
  try {
    const [state = '', parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

/** The ids of a process and all processes below it, parents first. On systems other than Linux only the process itself. */
export function processTree(root: number): number[] {
  if (process.platform !== 'linux') return [root];
  const pids = readdirSync('/proc').map(Number).filter(Boolean);
  const parents = new Map(pids.map((pid) => [pid, readStat(pid)?.parent]));
  const tree = [root];
  for (const parent of tree) tree.push(...pids.filter((pid) => parents.get(pid) === parent));
  return tree;
}

/** Returns false if the process is gone, or has ended and its parent has not noticed that yet (in a container the parent may never notice). */
export function isAlive(pid: number): boolean {
  if (process.platform !== 'linux') return sendSignal(pid, 0);
  const stat = readStat(pid);
  return stat !== undefined && stat.state !== 'Z';
}
