import { join } from 'node:path';
import { findProgram } from './administrator.ts';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { CommandError, runCommand } from './run-command.ts';

/**
 * The path of a program of a Go module, such as `example.org/mod/cmd/program@v1.2.3`, built once.
 *
 * @throws CommandError
 */
export async function goProgram(context: StackContext, module: string): Promise<string> {
  const name = module.split('@')[0]?.split('/').at(-1) ?? module;
  const place = await cached(context, `go-${name}`, recipeKey(module), async (folder) => {
    const go = findProgram('go');
    if (go === undefined) throw new CommandError('there is no go on PATH', '');
    await runCommand(go, ['install', module], { signal: context.signal, env: { ...process.env, GOBIN: folder } });
  });
  return join(place, name);
}
