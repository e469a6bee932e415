import type { Client } from './client.ts';
import type { ExitCode } from './failure.ts';
import type { OptionName, OptionValues } from './options.ts';
import type { Terminal } from './terminal.ts';

/** What is around a command: nothing of it is opened before a command asks for it. */
export interface Context {
  readonly terminal: Terminal;
  /** The service that QSTAMP_URL names. @throws CommandFailure when it names none */
  connect(): Client;
  /** Asks a person; undefined where nobody can be asked, as in a script. */
  ask(question: string): Promise<string | undefined>;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** The folder of the trust anchors that this person keeps. */
  readonly anchorsFolder: string;
}

export interface Command {
  /** One or two words. */
  readonly name: string;
  /** What stands behind the name, e.g. `FILE...`; empty: nothing may. */
  readonly operands: string;
  /** One line of the overview. */
  readonly summary: string;
  /** What the command's own help says beside it. */
  readonly details?: string;
  /** The options that it takes, each with the name of its value (empty for a switch) and what it does. */
  readonly options: Partial<Readonly<Record<OptionName, readonly [value: string, help: string]>>>;
  run(operands: readonly string[], values: OptionValues, context: Context): Promise<ExitCode>;
}
