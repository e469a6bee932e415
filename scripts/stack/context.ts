import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Progress } from './progress.mjs';

/** The root of this checkout. */
export const checkoutDir = resolve(import.meta.dirname, '../..');

/** The one ignored folder that holds the state of `npm start`. */
export const localDir = join(checkoutDir, '.local');

/** What every part of the local stack needs to do its work. */
export interface StackContext {
  /** Aborted when the person wants to stop; every step then ends what it started and throws the reason. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Where the servers keep their data and logs. */
  readonly dataDir: string;
  /** Where what is expensive to make is kept for all checkouts of this user. */
  readonly cacheDir: string;
  /** False: data outlives the process but not the machine (tests). */
  readonly durable: boolean;
}

function isWritable(path: string): boolean {
  if (!existsSync(path)) return path !== dirname(path) && isWritable(dirname(path));
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** `$XDG_CACHE_HOME/qstamp`, or `~/.cache/qstamp`; inside the checkout where that cannot be written. */
export function findCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const shared = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'qstamp');
  const chosen = isWritable(shared) ? shared : join(localDir, 'cache');
  mkdirSync(chosen, { recursive: true });
  return chosen;
}

/** Runs two set-ups side by side. When one fails the other is aborted, and the failure is thrown when both have ended. */
export async function together<A, B>(
  context: StackContext,
  first: (context: StackContext) => Promise<A>,
  second: (context: StackContext) => Promise<B>,
): Promise<[A, B]> {
  const failure = new AbortController();
  const linked = { ...context, signal: AbortSignal.any([context.signal, failure.signal]) };
  const guarded = async <T>(run: (context: StackContext) => Promise<T>): Promise<T> => {
    try {
      return await run(linked);
    } catch (error) {
      failure.abort(error);
      throw error;
    }
  };
  const both = [guarded(first), guarded(second)] as const;
  await Promise.allSettled(both);
  return Promise.all(both);
}
