import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { CommandOutcome } from './command.ts';
import { inherited } from './environment.ts';

/** Runs a program that reads its standard input, and waits for its end. */
export async function runWithInput(
  program: string,
  args: readonly string[],
  input: string,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<CommandOutcome> {
  const child = spawn(program, args, { cwd, env: { ...inherited, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}
