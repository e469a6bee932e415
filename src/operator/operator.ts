import type { Environment } from '../shared/runtime/config.ts';

/** What a command for operators needs of the process, and of the command line. */
export interface Operator {
  readonly environment: Environment;
  readonly json: boolean;
  /** Prints a result, except with `--quiet`. A problem is printed always. */
  print(text: string, isProblem?: boolean): void;
  readonly stderr: { write(text: string): unknown };
}

/** 0: done. 1: the command failed. 2: the command line or the settings are wrong. */
export type OperatorExitCode = 0 | 1 | 2;
