import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Client } from './client.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** The command line, or a group of commands such as `qstamp workflow`. */
export type Program = CommandUnknownOpts;

/** The environment of a command. Nothing in it is opened before the command uses it. */
export interface Context {
  readonly terminal: Terminal;
  /** Returns a client for this service; by default, for the one at QSTAMP_URL. @throws CommandFailure if QSTAMP_URL is not an HTTP URL */
  connect(service?: string): Client;
  /** Asks the user. Returns undefined if nobody can answer, for example in a script. */
  ask(question: string): Promise<string | undefined>;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly anchorsFolder: string;
  /** Renews the evidence of the whole service, for operators. */
  renewDue(): Promise<void>;
}

/** Collects the values of an option that may be repeated. An option of commander with `<FILE...>` would take the operands after it, too. */
export const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export const metadataOption = (description: string) =>
  new Option('--metadata <NAME=VALUE>', `${description}; may be repeated`).argParser(
    (pair, previous: Readonly<Record<string, string>> = {}) => {
      const end = pair.indexOf('=');
      if (end < 1) throw new InvalidArgumentError('It takes NAME=VALUE.');
      return { ...previous, [pair.slice(0, end)]: pair.slice(end + 1) };
    },
  );

/** Continues only if the user says yes, or gave `--yes`. @throws CommandFailure `usage` otherwise */
export async function confirm({ yes }: { readonly yes?: true }, ask: Context['ask'], question: string): Promise<void> {
  if (yes) return;
  const answer = await ask(`${question} [y/N] `);
  if (answer === undefined) throw misuse('this needs a confirmation, but there is no terminal to ask; use --yes');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure(exitCodes.usage, 'nothing was changed');
}
