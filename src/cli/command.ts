import type { Client } from './client.ts';
import { CommandFailure, type ExitCode, exitCodes, misuse } from './failure.ts';
import type { OptionName, OptionValues } from './options.ts';
import type { Terminal } from './terminal.ts';

/** The environment of a command. Nothing in it is opened before the command uses it. */
export interface Context {
  readonly terminal: Terminal;
  /** Returns a client for the service at QSTAMP_URL. @throws CommandFailure if QSTAMP_URL is not an HTTP URL */
  connect(): Client;
  /** Asks the user. Returns undefined if nobody can answer, for example in a script. */
  ask(question: string): Promise<string | undefined>;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** The folder of the user's saved trust anchors. */
  readonly anchorsFolder: string;
}

export interface Command {
  /** The name of the command: one or two words. */
  readonly name: string;
  /** The operands after the name, e.g. `FILE...`; empty if there are none. */
  readonly operands: string;
  /** One line for the overview. */
  readonly summary: string;
  /** More text for the command's own help. */
  readonly details?: string;
  /** The options of the command, each with the name of its value (empty for a switch) and a description. */
  readonly options: Partial<Readonly<Record<OptionName, readonly [value: string, help: string]>>>;
  run(operands: readonly string[], values: OptionValues, context: Context): Promise<ExitCode>;
}

/** Continues only if the user says yes, or gave `--yes`. @throws CommandFailure `usage` otherwise */
export async function confirm({ yes }: OptionValues, ask: Context['ask'], question: string): Promise<void> {
  if (yes) return;
  const answer = await ask(`${question} [y/N] `);
  if (answer === undefined) throw misuse('this needs a confirmation, but there is no terminal to ask; use --yes');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure(exitCodes.usage, 'nothing was changed');
}
