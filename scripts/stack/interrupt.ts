/** Thrown by the current work after the user or the parent process stopped us. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;
  constructor(signal: string, exitCode: number) {
    super(`interrupted (${signal})`);
    this.exitCode = exitCode;
  }
}

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** One Ctrl-C arrives twice: from the terminal, and from npm. Two signals within this time count as one. */
const sameSignalMs = 1_000;

/**
 * Runs a script to its end and exits. The exit code is 128 plus the signal's number if it was interrupted, and 1 with a sentence on stderr if it
 * failed. Ctrl-C, SIGTERM, a closed terminal, or the end of our IPC channel with the parent aborts `signal`. `run` then stops what it started and
 * throws. After a second Ctrl-C we exit at once, and our children end with us.
 */
export async function runScript(run: (signal: AbortSignal) => Promise<number>): Promise<never> {
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
  for (const name of Object.keys(exitCodes) as (keyof typeof exitCodes)[]) process.on(name, interrupt);
  process.on('disconnect', () => interrupt('SIGHUP'));
  try {
    process.exit(await run(controller.signal));
  } catch (error) {
    if (error instanceof Interrupted) process.exit(error.exitCode);
    const isKnown = error instanceof Error && ['StepError', 'ConfigError', 'CommandError'].includes(error.name);
    process.stderr.write(`\n${isKnown ? error.message : error instanceof Error ? error.stack : error}\n`);
    process.exit(1);
  }
}
