/** Thrown out of whatever was under way when the person, or the parent process, ended us. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;
  constructor(signal: string, exitCode: number) {
    super(`interrupted (${signal})`);
    this.exitCode = exitCode;
  }
}

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** One Ctrl-C arrives twice: from the terminal, and passed on by npm. Within this time it counts as one. */
const sameSignalMs = 1_000;

/**
 * Runs with a signal that is aborted by Ctrl-C, SIGTERM, a closed terminal, or the end of the parent that holds our IPC channel.
 * The run then stops what it started and throws. A second Ctrl-C does not wait for that: our children die with us.
 */
async function withInterrupts<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let firstAt = 0;
  const interrupt = (name: keyof typeof exitCodes) => {
    if (firstAt === 0) {
      firstAt = Date.now();
      controller.abort(new Interrupted(name, exitCodes[name]));
    } else if (Date.now() - firstAt > sameSignalMs && name !== 'SIGHUP') {
      process.stderr.write('stopped at once; servers end with this process\n');
      process.exit(exitCodes[name]);
    }
  };
  const names = Object.keys(exitCodes) as (keyof typeof exitCodes)[];
  for (const name of names) process.on(name, interrupt);
  const parentGone = () => interrupt('SIGHUP');
  process.on('disconnect', parentGone);
  try {
    return await run(controller.signal);
  } finally {
    for (const name of names) process.off(name, interrupt);
    process.off('disconnect', parentGone);
  }
}

/** Runs a script to its exit code: an interrupted one ends with 128 + the signal, a failed one with 1 and a sentence on stderr. */
export async function runScript(run: (signal: AbortSignal) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await withInterrupts(run);
  } catch (error) {
    if (error instanceof Interrupted) {
      process.exitCode = error.exitCode;
    } else {
      const known = error instanceof Error && ['StepError', 'ConfigError'].includes(error.name);
      process.stderr.write(`\n${known ? error.message : error instanceof Error ? error.stack : error}\n`);
      process.exitCode = 1;
    }
  }
  // The IPC channel of bootstrap.mjs would keep a finished script alive.
  if (process.connected) process.disconnect();
}
