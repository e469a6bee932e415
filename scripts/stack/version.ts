import type { StackContext } from './context.ts';
import { runCommand } from './run-command.ts';

/** What `<program> <arguments>` says its version is, and whether that is at least `oldest` (major, minor). */
export async function findVersion(
  program: string,
  oldest: readonly [major: number, minor: number],
  { signal }: Pick<StackContext, 'signal'>,
  args: readonly string[] = ['--version'],
): Promise<{ text: string; usable: boolean }> {
  const text = /(\d+)\.(\d+)(\.\d+)*/.exec(await runCommand(program, args, { signal }));
  if (!text) return { text: 'of unknown version', usable: false };
  const major = Number(text[1]);
  const minor = Number(text[2]);
  return { text: text[0], usable: major > oldest[0] || (major === oldest[0] && minor >= oldest[1]) };
}
