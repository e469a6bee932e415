import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { dieWithParent, isAlive, processTree, sendSignal } from './process-group.ts';

const readyMs = 60_000;
const pollMs = 50;
const stopMs = 20_000;

/** A server process that can be stopped, really broken, and started again as it was. */
export interface ManagedProcess {
  /** Starts it and resolves when it serves. */
  start(signal?: AbortSignal): Promise<void>;
  /** Asks it to end in good order and resolves when it is gone. */
  stop(): Promise<void>;
  /** SIGKILL to it and to all its children; resolves when they are gone. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** Calls back when it ends although nobody asked it to, at once where it has already. */
  onUnexpectedExit(listener: (report: string) => void): void;
}

export interface ProcessDescription {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
  /** Throws while it does not serve yet. */
  readonly checkReady: () => Promise<void>;
  /** The process that takes signals, when it is not the command itself (PostgreSQL inside bubblewrap). */
  readonly findServer?: (commandPid: number) => number | undefined;
}

/** The last lines of a log, for a report. */
function lastLines(file: string, count = 12): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
}

/** Runs `open` so that files which it makes, and whatever it starts makes, are for this user alone to read. */
function withPrivateFiles<T>(open: () => T): T {
  const before = process.umask(0o077);
  try {
    return open();
  } finally {
    process.umask(before);
  }
}

export function createManagedProcess(description: ProcessDescription): ManagedProcess {
  const { name, logFile } = description;
  let child: ChildProcess | undefined;
  let expected = true;
  const listeners: ((report: string) => void)[] = [];
  let unexpected: string | undefined;
  const tell = (report: string) => {
    if (expected) return;
    unexpected = report;
    for (const listener of listeners) listener(report);
  };

  const running = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const ended = async (process: ChildProcess) => {
    if (process.exitCode === null && process.signalCode === null) await once(process, 'exit');
  };
  const signalAll = (signal: NodeJS.Signals) => {
    if (child?.pid === undefined) return [];
    const pids = processTree(child.pid);
    for (const pid of pids) sendSignal(pid, signal);
    return pids;
  };

  async function kill(): Promise<void> {
    expected = true;
    if (!child || !running()) return;
    const pids = signalAll('SIGKILL');
    await ended(child);
    while (pids.some(isAlive)) await delay(10);
  }

  async function stop(): Promise<void> {
    expected = true;
    if (!child || !running()) return;
    if (child.pid !== undefined) {
      sendSignal(description.findServer?.(child.pid) ?? child.pid, description.stopSignal);
      signalAll('SIGCONT');
    }
    const deadline = setTimeout(() => void kill(), stopMs);
    await ended(child);
    clearTimeout(deadline);
  }

  async function untilReady(signal: AbortSignal | undefined): Promise<void> {
    const deadline = Date.now() + readyMs;
    for (;;) {
      signal?.throwIfAborted();
      if (!running()) throw new Error(`${name} ended while it started:\n${lastLines(logFile)}`);
      try {
        return await description.checkReady();
      } catch (error) {
        if (Date.now() > deadline) {
          throw new Error(`${name} did not answer within ${readyMs / 1000} s (${(error as Error).message}):\n${lastLines(logFile)}`);
        }
        await delay(pollMs);
      }
    }
  }

  async function start(signal?: AbortSignal): Promise<void> {
    mkdirSync(dirname(logFile), { recursive: true });
    const [command, args] = dieWithParent(description.command, description.args);
    const started = withPrivateFiles(() => {
      const log = openSync(logFile, 'a');
      const server = spawn(command, args, {
        detached: true,
        cwd: description.cwd,
        env: description.env ?? process.env,
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      return server;
    });
    child = started;
    expected = false;
    unexpected = undefined;
    started.once('error', (error) => tell(`${name} could not be started: ${error.message}`));
    started.once('exit', (code, by) => tell(`${name} ended with ${by ?? `code ${code}`}:\n${lastLines(logFile)}`));
    try {
      await untilReady(signal);
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
      if (unexpected !== undefined) listener(unexpected);
    },
  };
}
