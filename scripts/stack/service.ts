import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { type ServiceProcess, serviceProcesses } from '../service-processes.ts';
import { checkoutDir } from './context.ts';
import { sendSignal } from './process-group.ts';
import { StepError } from './progress.mjs';

const readyMs = 60_000;
const stopMs = 20_000;
const shownLevels = ['warn', 'error', 'fatal'];
const shownLines = 12;

/** What a process of the service says when it serves. */
export type Ready = Readonly<Record<string, unknown>>;

/** A running process of the service. */
export interface Service {
  readonly name: ServiceProcess;
  readonly ready: Ready;
  stop(): Promise<void>;
  /** Calls back when it ends although nobody asked it to, at once where it has already. */
  onUnexpectedExit(listener: (report: string) => void): void;
}

export interface ServiceOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** Warnings and errors go here, one line each; everything goes to the log file. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** One line for a person out of a log line of level warn or worse; anything that is not a log line is shown as it is. */
export function describeLogLine(line: string): string | undefined {
  let entry: { level?: unknown; msg?: string; err?: { message?: string } } | null;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  if (typeof entry?.level !== 'string') return line;
  return shownLevels.includes(entry.level)
    ? [...new Set([entry.level, entry.msg, entry.err?.message])].filter(Boolean).join(': ')
    : undefined;
}

/**
 * Starts a process of the service with this Node and resolves when it says over its IPC channel that it serves. It ends with us:
 * it takes the end of that channel as a signal to stop.
 *
 * @throws StepError with its last log lines when it ends, or does not serve within a minute.
 */
export async function startService(name: ServiceProcess, { env, logFile, say, signal }: ServiceOptions): Promise<Service> {
  signal.throwIfAborted();
  mkdirSync(dirname(logFile), { recursive: true });
  const child = spawn(process.execPath, serviceProcesses[name], {
    cwd: checkoutDir,
    env,
    // A group of its own: Ctrl-C at the terminal reaches us, and we stop the processes in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const tail: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      appendFileSync(logFile, `${line}\n`);
      tail.push(line);
      if (tail.length > shownLines) tail.shift();
      const shown = describeLogLine(line);
      if (shown !== undefined) say(`[${name}] ${shown}`);
    });
  }
  const report = (how: string) => `${how}; the end of ${relative(checkoutDir, logFile)}:\n${tail.join('\n')}`;

  let stopping = false;
  const listeners: ((report: string) => void)[] = [];
  let unexpected: string | undefined;
  const ended = once(child, 'close').then(([code, by]) => {
    const text = report(`${name} ended with ${by ?? `code ${code}`}`);
    if (!stopping) {
      unexpected = text;
      for (const listener of listeners) listener(text);
    }
    return text;
  });
  const stop = async () => {
    stopping = true;
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    sendSignal(pid, 'SIGTERM');
    const deadline = setTimeout(() => sendSignal(pid, 'SIGKILL'), stopMs);
    await ended;
    clearTimeout(deadline);
  };

  const fail = (why: string) => new StepError(`Starting the ${name}`, why, 'mend what the log says and start again');
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(fail(report(`it did not serve within ${readyMs / 1000} s`))), readyMs);
  try {
    const message = once(child, 'message', { signal: AbortSignal.any([signal, waiting.signal]) });
    const ready: Ready | string = await Promise.race([message.then(([first]): Ready => first), ended]);
    if (typeof ready === 'string') throw fail(ready);
    const onUnexpectedExit = (listener: (report: string) => void) => {
      listeners.push(listener);
      if (unexpected !== undefined) listener(unexpected);
    };
    return { name, ready, stop, onUnexpectedExit };
  } catch (error) {
    await stop();
    signal.throwIfAborted();
    throw waiting.signal.aborted ? waiting.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}
