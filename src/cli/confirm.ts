import type { Context } from './command.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import type { OptionValues } from './options.ts';

/** Goes on only where a person says yes, or said so with `--yes`. @throws CommandFailure `usage` otherwise */
export async function confirm({ yes }: OptionValues, ask: Context['ask'], question: string): Promise<void> {
  if (yes) return;
  const answer = await ask(`${question} [y/N] `);
  if (answer === undefined) throw misuse('nobody can be asked here; --yes goes ahead without');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure(exitCodes.usage, 'nothing was changed');
}
