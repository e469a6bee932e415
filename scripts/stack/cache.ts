import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from './context.ts';
import { removeTree } from './debian.ts';
import { isAlive, runCommand } from './run.ts';

/** The key of a cached item. It depends on everything that the item is made from, so that a changed recipe makes a new item. */
export function recipeKey(...parts: readonly string[]): string {
  const recipe = JSON.stringify([process.platform, process.arch, ...parts]);
  return createHash('sha256').update(recipe).digest('hex').slice(0, 12);
}

/**
 * Returns the folder of a cached item. If it is missing, it is made in a temporary folder and renamed when complete. If two starts make it at once,
 * both use the item that is complete first. If a process ended before its item was complete, a later start removes the rest.
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
    // If this cleanup fails, the start continues.
    if (maker !== undefined && !isAlive(Number(maker))) await removeTree(join(cacheDir, entry)).catch(() => undefined);
  }
  const partial = mkdtempSync(`${place}.partial-${process.pid}-`);
  try {
    await make(partial);
    renameSync(partial, place);
  } catch (error) {
    await removeTree(partial);
    // If the item exists, another start was faster, and its item is used.
    if (!existsSync(place)) throw error;
  }
  return place;
}

/**
 * The path of a program from a Go module, for example `example.org/mod/cmd/program@v1.2.3`. It is built once.
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
