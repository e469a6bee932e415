import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { dieWithParent, isAlive, lastLines, processTree, sendSignal } from './run.ts';

const readyMs = 60_000;
const pollMs = 50;
const stopMs = 20_000;
const reportLines = 12;

/** A server process that can be stopped, broken, and started again unchanged. */
export interface ServerProcess {
  /** Starts the server. Resolves when it can serve requests. */
  start(signal?: AbortSignal): Promise<void>;
  /** Asks the server to end cleanly. Resolves when it is gone. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the server and all its children. Resolves when they are gone. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: connections stay open, but the server does not answer. */
  pause(): void;
  /** Sends SIGCONT: the server continues after `pause`. */
  resume(): void;
  /** Calls `listener` if the server ends unexpectedly, or at once if it has already ended so. */
  onUnexpectedExit(listener: (report: string) => void): void;
}

/** A running Redis or MongoDB that tests can break. It keeps its port and its data after stop, kill and start. */
export interface StackServer extends Omit<ServerProcess, 'pause' | 'resume'> {
  /** The URL without a database. */
  readonly url: string;
  /** Text for people: which server was chosen, and why. */
  readonly source: string;
  readonly port: number;
  pause(): void | Promise<void>;
  resume(): void | Promise<void>;
  /** Ends the server and removes its container, which is not below `dataDir`. */
  remove?(): Promise<void>;
}

/** Options for a server. */
export interface ServerOptions {
  /** This port is used if it is free. */
  readonly preferredPort?: number | undefined;
  /** Added to our own environment, if the server is a program of this machine. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

interface ProcessDescription {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
  /** Throws while the server cannot serve requests yet. */
  readonly checkReady: () => Promise<void>;
  /** The id of the process that gets signals, if it is not the command itself. Example: PostgreSQL inside bubblewrap. */
  readonly findServer?: (commandPid: number) => number | undefined;
  /** Only for our own processes: each has an IPC channel and ends when the channel closes. The callbacks get its messages and its printed lines. */
  readonly ours?: { onMessage(message: unknown): void; onLine(line: string): void };
}

/** Starts the server so that its log and its files are readable only for this user. */
function spawnPrivately({ command, args, cwd, env = process.env, logFile, ours }: ProcessDescription): ChildProcess {
  const before = process.umask(0o077);
  const log = openSync(logFile, 'a');
  try {
    const options = { detached: true, cwd, env };
    if (!ours) return spawn(...dieWithParent(command, args), { ...options, stdio: ['ignore', log, log] });
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    child.on('message', ours.onMessage);
    for (const input of [child.stdout, child.stderr]) {
      if (!input) continue;
      createInterface({ input }).on('line', (line) => {
        appendFileSync(logFile, `${line}\n`);
        ours.onLine(line);
      });
    }
    return child;
  } finally {
    closeSync(log);
    process.umask(before);
  }
}

export function createServerProcess(description: ProcessDescription): ServerProcess {
  const { name, logFile } = description;
  const listeners: ((report: string) => void)[] = [];
  let child: ChildProcess | undefined;
  /** The report of an unexpected end. Null while the server runs, and after an expected end. */
  let unexpected: string | null = null;
  let isExpected = true;

  const report = (how: string) => `${name} ${how}:\n${lastLines(readFileSync(logFile, 'utf8'), reportLines)}`;
  const running = () => (child !== undefined && child.exitCode === null && child.signalCode === null ? child : undefined);
  const tell = (how: string) => {
    if (isExpected) return;
    unexpected = report(how);
    for (const listener of listeners) listener(unexpected);
  };
  const signalAll = (signal: NodeJS.Signals) => {
    const pids = child?.pid === undefined ? [] : processTree(child.pid);
    for (const pid of pids) sendSignal(pid, signal);
    return pids;
  };

  async function kill(): Promise<void> {
    isExpected = true;
    const killed = running();
    if (!killed) return;
    const closed = once(killed, 'close');
    const pids = signalAll('SIGKILL');
    await closed;
    while (pids.some(isAlive)) await delay(10);
  }

  async function stop(): Promise<void> {
    isExpected = true;
    const stopped = running();
    if (!stopped?.pid) return;
    const closed = once(stopped, 'close');
    sendSignal(description.findServer?.(stopped.pid) ?? stopped.pid, description.stopSignal);
    signalAll('SIGCONT');
    const deadline = setTimeout(() => void kill(), stopMs);
    await closed;
    clearTimeout(deadline);
  }

  async function untilReady(closed: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
    const deadline = Date.now() + readyMs;
    for (;;) {
      signal?.throwIfAborted();
      if (!running()) {
        await closed;
        throw new Error(report('ended while it started'));
      }
      try {
        return await description.checkReady();
      } catch (error) {
        if (Date.now() > deadline) throw new Error(report(`did not serve within ${readyMs / 1000} s (${(error as Error).message})`));
        await delay(pollMs);
      }
    }
  }

  async function start(signal?: AbortSignal): Promise<void> {
    mkdirSync(dirname(logFile), { recursive: true });
    const started = spawnPrivately(description);
    child = started;
    [isExpected, unexpected] = [false, null];
    const closed = new Promise((resolve) => started.once('close', resolve));
    started.once('error', (error) => tell(`could not be started (${error.message})`));
    started.once('close', (code, by) => tell(`ended with ${by ?? `code ${code}`}`));
    try {
      await untilReady(closed, signal);
    } catch (error) {
      await kill();
      throw error;
    }
  }

  return {
    start,
    stop,
    kill,
    pause: () => void signalAll('SIGSTOP'),
    resume: () => void signalAll('SIGCONT'),
    onUnexpectedExit: (listener) => {
      listeners.push(listener);
      if (unexpected !== null) listener(unexpected);
    },
  };
}
