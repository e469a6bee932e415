import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from './context.ts';
import { removeTree } from './debian.ts';
import { isAlive, runCommand } from './run.ts';

/** Names a cached thing after everything it is made from, so that a changed recipe is a new thing. */
export function recipeKey(...parts: readonly string[]): string {
  const recipe = JSON.stringify([process.platform, process.arch, ...parts]);
  return createHash('sha256').update(recipe).digest('hex').slice(0, 12);
}

/**
 * Answers the folder of a cached thing. Where it is missing it is made beside its place and renamed into place when it is complete. If two
 * starts make it at once, both use the one that is ready first. What a start left half-made is removed once that process is gone.
 */
export async function cached(
  { cacheDir }: StackContext,
  name: string,
  key: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const place = join(cacheDir, `${name}-${key}`);
  if (existsSync(place)) return place;
  for (const entry of readdirSync(cacheDir)) {
    const [, maker] = /\.partial-(\d+)-/.exec(entry) ?? [];
    // Cleaning is not worth a failed start.
    if (maker !== undefined && !isAlive(Number(maker))) await removeTree(join(cacheDir, entry)).catch(() => undefined);
  }
  const partial = mkdtempSync(`${place}.partial-${process.pid}-`);
  try {
    await make(partial);
    renameSync(partial, place);
  } catch (error) {
    await removeTree(partial);
    // Another start was first.
    if (!existsSync(place)) throw error;
  }
  return place;
}

/**
 * The path of a program of a Go module, such as `example.org/mod/cmd/program@v1.2.3`, built once.
 *
 * @throws CommandError
 */
export async function goProgram(context: StackContext, module: string): Promise<string> {
  const name = module.split('@')[0]?.split('/').at(-1) ?? module;
  const place = await cached(context, `go-${name}`, recipeKey(module), async (folder) => {
    await runCommand('go', ['install', module], { signal: context.signal, env: { ...process.env, GOBIN: folder } });
  });
  return join(place, name);
}
