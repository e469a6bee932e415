import closeWithGrace from 'close-with-grace';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { createLogger, type Logger } from './log.ts';

/** Resources in the order they were opened; closed in reverse (architecture rule 5). */
export interface Lifecycle {
  /** Registers how to close what was just opened. */
  onClose(name: string, close: () => unknown): void;
  /** Closes everything once, in reverse order; a failing step is logged and the rest goes on. */
  close(): Promise<void>;
}

export function createLifecycle(log: Logger): Lifecycle {
  const steps: { name: string; close: () => unknown }[] = [];
  let closing: Promise<void> | undefined;
  const closeAll = async () => {
    for (const step of steps.reverse()) {
      try {
        await step.close();
      } catch (error) {
        log.warn({ err: error, resource: step.name }, 'closing failed');
      }
    }
  };
  return {
    onClose: (name, close) => void steps.push({ name, close }),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** How long a process may take to finish what is under way when it is told to stop. */
const shutdownDelayMs = 15_000;

export interface ProcessContext<Settings> {
  readonly config: Settings;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
}

/** What `load` answers; a ConfigError that it throws ends the process with its one line, exit code 1. */
export function loadOrExit<Settings>(load: () => Settings): Settings {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

/**
 * Runs one process of the service: `open` registers its resources and answers when it serves; a signal, or the end of a
 * parent that holds an IPC channel to it, closes them. A wrong setting ends the process with its one line, exit code 1.
 */
export function runProcess(
  name: string,
  environment: NodeJS.ProcessEnv,
  open: (context: ProcessContext<Config>) => Promise<{ url?: string }>,
): Promise<void> {
  return runProcessWith(name, () => loadConfig(environment), open);
}

/** `runProcess` for a process with settings of its own; `load` throws a ConfigError. */
export async function runProcessWith<Settings extends { readonly LOG_LEVEL: string }>(
  name: string,
  load: () => Settings,
  open: (context: ProcessContext<Settings>) => Promise<object>,
): Promise<void> {
  const config = loadOrExit(load);
  const log = createLogger({ level: config.LOG_LEVEL, process: name });
  const lifecycle = createLifecycle(log);
  closeWithGrace({ delay: shutdownDelayMs, logger: false }, async ({ err, signal }) => {
    if (err) log.fatal({ err }, 'unexpected failure');
    else log.info({ signal }, 'stopping');
    await lifecycle.close();
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  try {
    const ready = await open({ config, log, lifecycle });
    log.info(ready, 'ready');
    process.send?.({ ready: true, ...ready });
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
    else log.fatal({ err: error }, 'could not start');
    await lifecycle.close();
    process.exit(1);
  }
}
