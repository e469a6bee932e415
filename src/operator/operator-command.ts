import { parseArgs } from 'node:util';
import { ServiceError } from '../shared/domain/service-error.ts';
import { ConfigError } from '../shared/runtime/config.ts';

/** A command for operators of the service. `bin/qstamp.mjs` calls it. */
export interface OperatorCommand {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** 0: done. 1: the command failed. 2: the command line or the settings are wrong. */
export type OperatorExitCode = 0 | 1 | 2;

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface OperatorLine {
  readonly operands: readonly string[];
  readonly json: boolean;
  readonly all: boolean;
  /** Prints a result, except with `--quiet`. A problem is printed always. */
  print(text: string, isProblem?: boolean): void;
}

/** Reads the command line, runs `work`, and turns a failure into one line and an exit code. */
export async function runOperatorCommand(
  { args, stdout, stderr }: OperatorCommand,
  usage: string,
  work: (line: OperatorLine) => Promise<OperatorExitCode>,
): Promise<OperatorExitCode> {
  try {
    const flag = { type: 'boolean' } as const;
    const options = { json: flag, all: flag, quiet: flag, help: { ...flag, short: 'h' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (values.help) {
      stdout.write(usage);
      return 0;
    }
    const print = (text: string, isProblem = false) => {
      if (isProblem || !values.quiet) stdout.write(text);
    };
    return await work({ operands: positionals, json: values.json === true, all: values.all === true, print });
  } catch (error) {
    const isUsage =
      error instanceof UsageError || (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));
    if (isUsage) {
      // Node explains at length how to write an operand that begins with a dash. The usage begins with the name of the command.
      const [sentence] = error.message.split('. To specify');
      stderr.write(`qstamp: ${sentence} (see ${/^qstamp [\w-]+/.exec(usage)?.[0]} --help)\n`);
      return 2;
    }
    if (error instanceof ConfigError) {
      stderr.write(`qstamp: ${error.message}\n`);
      return 2;
    }
    if (!(error instanceof ServiceError)) throw error;
    stderr.write(`qstamp: ${error.code === 'store_unavailable' ? 'MONGODB_URL: ' : ''}${error.message}\n`);
    return 1;
  }
}
