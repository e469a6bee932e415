import { relative } from 'node:path';
import { type ServiceProcess, serviceProcesses } from '../service-processes.ts';
import { checkoutDir } from './context.ts';
import { StepError } from './progress.ts';
import { createServerProcess, type ServerProcess } from './server-process.ts';

const shownLevels = ['warn', 'error', 'fatal'];

/** The ready message of a process of the service. */
type Ready = Readonly<Record<string, unknown>>;

/** A running process of the service. */
export interface Service extends Pick<ServerProcess, 'stop' | 'onUnexpectedExit'> {
  readonly name: ServiceProcess;
  readonly ready: Ready;
}

export interface ServiceOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** Warnings and errors go here, one line each; the log file gets everything. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** One line for people from a log line of level warn or higher; anything that is not a log line is shown unchanged. */
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
 * Starts a process of the service with this Node.js, and resolves when it reports over its IPC channel that it serves. It ends with us, because the
 * end of that channel is its stop signal.
 *
 * @throws StepError with its last log lines if it ends, or does not serve within a minute
 */
export async function startService(name: ServiceProcess, { env, logFile, say, signal }: ServiceOptions): Promise<Service> {
  let ready: Ready | undefined;
  const service = createServerProcess({
    name,
    command: process.execPath,
    args: serviceProcesses[name],
    cwd: checkoutDir,
    env,
    logFile,
    stopSignal: 'SIGTERM',
    ours: {
      onMessage: (message) => {
        ready = message as Ready;
      },
      onLine: (line) => {
        const shown = describeLogLine(line);
        if (shown !== undefined) say(`[${name}] ${shown}`);
      },
    },
    checkReady: async () => {
      if (ready === undefined) throw new Error('it has not reported that it serves');
    },
  });
  try {
    await service.start(signal);
    return { name, ready: ready ?? {}, stop: service.stop, onUnexpectedExit: service.onUnexpectedExit };
  } catch (error) {
    signal.throwIfAborted();
    throw new StepError(
      `Starting the ${name}`,
      `${(error as Error).message}\n(the end of ${relative(checkoutDir, logFile)})`,
      'fix the problem in the log and start again',
    );
  }
}
