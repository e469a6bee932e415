import closeWithGrace from 'close-with-grace';
import { ConfigError } from './config.ts';
import { createLogger, type Logger } from './log.ts';

type Lifecycle = ReturnType<typeof createLifecycle>;

/** Keeps resources in the order in which they were opened, and closes them in reverse order (architecture rule 5). */
export function createLifecycle(log: Logger) {
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
    onClose: (name: string, close: () => unknown): void => void steps.push({ name, close }),
    isClosing: (): boolean => closing !== undefined,
    /** Closes all resources, once. If a resource cannot be closed, this is logged, and the others are closed too. */
    close: (): Promise<void> => {
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

/**
 * Runs one process of the service. `load` reads its settings. `open` registers the resources of the process, and resolves when the process can serve.
 * The resources are closed after a stop signal, and when a parent process with an IPC channel ends. A ConfigError ends the process with one line and
 * exit code 1, also later.
 */
export async function runProcess<Settings extends { readonly LOG_LEVEL: string }>(
  name: string,
  load: () => Settings,
  open: (context: ProcessContext<Settings>) => Promise<object>,
): Promise<void> {
  let context: ProcessContext<Settings> | undefined;
  const report = (error: unknown, what: string) => {
    if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
    else if (context) context.log.fatal({ err: error }, what);
    else throw error;
  };
  try {
    const config = load();
    const log = createLogger({ level: config.LOG_LEVEL, process: name });
    const lifecycle = createLifecycle(log);
    context = { config, log, lifecycle };
    closeWithGrace({ delay: shutdownDelayMs, logger: false }, async ({ err, signal }) => {
      if (err) report(err, 'an unexpected error; stopping');
      else log.info({ signal }, 'stopping');
      await lifecycle.close();
    });
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    const ready = await open(context);
    if (lifecycle.isClosing()) return;
    log.info(ready, 'ready');
    process.send?.({ ready: true, ...ready });
  } catch (error) {
    report(error, 'the process could not start');
    await context?.lifecycle.close();
    process.exit(1);
  }
}
