import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { removeTree } from './administrator.ts';
import type { StackContext } from './context.ts';
import { withLock } from './lock.mjs';

/** Names a cached thing after everything it is made from, so that a changed recipe is a new thing. */
export function recipeKey(...parts: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([process.platform, process.arch, ...parts]))
    .digest('hex')
    .slice(0, 12);
}

/**
 * Answers the folder of a cached thing, and makes it first when it is missing: beside its place, under a lock, renamed into
 * place when complete. Whatever an interrupted start left half-made is removed.
 */
export async function cached(
  { cacheDir, signal, progress }: StackContext,
  name: string,
  key: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const place = join(cacheDir, `${name}-${key}`);
  if (existsSync(place)) return place;
  const onWait = () => progress.say(`  ${name}: another start is making it; waiting`);
  return withLock(
    place,
    async () => {
      if (existsSync(place)) return place;
      for (const entry of readdirSync(cacheDir)) {
        if (entry.startsWith(`${name}-${key}.partial`)) await removeTree(join(cacheDir, entry));
      }
      const partial = `${place}.partial-${process.pid}`;
      mkdirSync(partial);
      try {
        await make(partial);
        renameSync(partial, place);
      } catch (error) {
        await removeTree(partial);
        throw error;
      }
      return place;
    },
    { signal, onWait },
  );
}
