import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { dieWithParent, sendSignal } from './process-group.ts';

const defaultTailLines = 15;
const patienceMs = 10_000;

/** Signals a command that may run as root through sudo, which we may not signal ourselves. */
function interruptCommand(pid: number, signal: NodeJS.Signals): void {
  try {
    sendSignal(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    spawnSync('sudo', ['-n', 'kill', '-s', signal.slice('SIG'.length), '--', String(pid)], { stdio: 'ignore' });
  }
}

/** A command of the set-up that ended badly; `output` holds its last lines. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly output: string;
  constructor(message: string, output: string) {
    super(output ? `${message}:\n${output}` : message);
    this.output = output;
  }
}

export interface CommandOptions {
  readonly signal?: AbortSignal | undefined;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
  /** What an abort signals: the whole process group, or only the command, which then ends in its own time (apt, while dpkg writes). */
  readonly interrupt?: 'group' | 'command';
  /** Lets the command ask at the terminal (a password); it then shares our process group. */
  readonly interactive?: boolean;
  /** How many of the last lines an error tells. */
  readonly keepLines?: number;
  /** Ends the command as failed when it takes longer, in ms. */
  readonly timeoutMs?: number;
}

/**
 * Runs a command to its end and answers its standard output.
 *
 * @throws CommandError when it cannot be started or ends with another code than 0; the reason of `signal` when that aborted it,
 *   and only after the command has ended.
 */
export async function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { signal, onLine, interrupt = 'group', interactive = false, keepLines = defaultTailLines } = options;
  signal?.throwIfAborted();
  const [file, wrapped] = dieWithParent(command, args);
  const child = spawn(file, wrapped, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    detached: !interactive,
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'pipe'],
  });
  const stdout: string[] = [];
  const tail: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (stream === child.stdout) stdout.push(line);
      tail.push(line);
      if (tail.length > keepLines) tail.shift();
      onLine?.(line);
    });
  }

  let killer: NodeJS.Timeout | undefined;
  const stop = () => {
    if (child.pid === undefined) return;
    if (interrupt === 'command' || interactive) return interruptCommand(child.pid, 'SIGINT');
    const group = -child.pid;
    interruptCommand(group, 'SIGTERM');
    killer = setTimeout(() => interruptCommand(group, 'SIGKILL'), patienceMs);
  };
  signal?.addEventListener('abort', stop, { once: true });
  const deadline = options.timeoutMs === undefined ? undefined : setTimeout(stop, options.timeoutMs);
  try {
    const ended = await new Promise<string | undefined>((resolve) => {
      child.once('error', (error) => resolve(`${command} could not be started: ${error.message}`));
      child.once('close', (code, by) => resolve(code === 0 ? undefined : `${command} ended with ${by ?? `code ${code}`}`));
    });
    signal?.throwIfAborted();
    if (ended !== undefined) throw new CommandError(ended, tail.join('\n'));
    return stdout.join('\n');
  } finally {
    signal?.removeEventListener('abort', stop);
    clearTimeout(killer);
    clearTimeout(deadline);
  }
}
