import type { Context } from './command.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import type { OptionValues } from './options.ts';

/** Continues only if the user says yes, or gave `--yes`. @throws CommandFailure `usage` otherwise */
export async function confirm({ yes }: OptionValues, ask: Context['ask'], question: string): Promise<void> {
  if (yes) return;
  const answer = await ask(`${question} [y/N] `);
  if (answer === undefined) throw misuse('this needs a confirmation, but there is no terminal to ask; use --yes');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure(exitCodes.usage, 'nothing was changed');
}
