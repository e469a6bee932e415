import closeWithGrace from 'close-with-grace';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { createLogger, type Logger } from './log.ts';

/** Keeps resources in the order in which they were opened, and closes them in reverse order (architecture rule 5). */
interface Lifecycle {
  onClose(name: string, close: () => unknown): void;
  /** Closes all resources in reverse order, once. If a resource cannot be closed, this is logged, and the others are closed too. */
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
        log.warn({ err: error, resource: step.name }, 'a resource could not be closed; closing the other resources');
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

/** The time that a process has to finish its work after a stop signal, in milliseconds. */
const shutdownDelayMs = 15_000;

export interface ProcessContext<Settings> {
  readonly config: Settings;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
}

/** Returns the result of `load`. If `load` throws a ConfigError, the process prints the message and exits with code 1. */
function loadOrExit<Settings>(load: () => Settings): Settings {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

/**
 * Runs one process of the service. `open` registers the resources of the process, and resolves when the process can serve. The resources are closed
 * after a stop signal, and when a parent process with an IPC channel ends. A ConfigError ends the process with one line and exit code 1, also later.
 */
export function runProcess(
  name: string,
  environment: NodeJS.ProcessEnv,
  open: (context: ProcessContext<Config>) => Promise<{ url?: string }>,
): Promise<void> {
  return runProcessWith(name, () => loadConfig(environment), open);
}

/** Like `runProcess`, but for a process with other settings. `load` reads them, and throws a ConfigError if a setting is wrong. */
export async function runProcessWith<Settings extends { readonly LOG_LEVEL: string }>(
  name: string,
  load: () => Settings,
  open: (context: ProcessContext<Settings>) => Promise<object>,
): Promise<void> {
  const config = loadOrExit(load);
  const log = createLogger({ level: config.LOG_LEVEL, process: name });
  const lifecycle = createLifecycle(log);
  closeWithGrace({ delay: shutdownDelayMs, logger: false }, async ({ err, signal }) => {
    if (err instanceof ConfigError) process.stderr.write(`${err.message}\n`);
    else if (err) log.fatal({ err }, 'an unexpected error; stopping');
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
    else log.fatal({ err: error }, 'the process could not start');
    await lifecycle.close();
    process.exit(1);
  }
}
