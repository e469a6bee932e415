import { relative } from 'node:path';
import { type ServiceProcess, serviceProcesses } from '../service-processes.ts';
import { checkoutDir } from './context.ts';
import { StepError } from './progress.ts';
import { createServerProcess, type ServerProcess } from './server-process.ts';

const shownLevels = ['warn', 'error', 'fatal'];

/** The message with which a process of the service reports that it is ready. */
type Ready = Readonly<Record<string, unknown>>;

/** A running process of the service. */
export interface Service extends Pick<ServerProcess, 'stop' | 'onUnexpectedExit'> {
  readonly name: ServiceProcess;
  readonly ready: Ready;
}

export interface ServiceOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** Called with a line for each warning and error. The log file gets all lines. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Turns a log line of level warn or higher into one line for people. Returns undefined for lower levels. Text that is not a log line is returned
 * unchanged.
 */
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
 * Starts a process of the service with the Node.js that runs us, and resolves when the process reports over its IPC channel that it is ready. It ends
 * with us, because it stops when this channel closes.
 *
 * @throws StepError with its last log lines if it ends, or is not ready within a minute
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
