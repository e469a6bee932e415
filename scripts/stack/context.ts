import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createProgress, type Progress } from './progress.ts';

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

/** `$XDG_CACHE_HOME/qstamp`, or `~/.cache/qstamp`; inside the checkout where that cannot be written. */
export function findCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const shared = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'qstamp');
  try {
    mkdirSync(shared, { recursive: true });
    accessSync(shared, constants.W_OK);
    return shared;
  } catch {
    const own = join(localDir, 'cache');
    mkdirSync(own, { recursive: true });
    return own;
  }
}

/** A context for servers whose data is thrown away with `dispose`. */
export function createTemporaryContext(signal: AbortSignal, changes: Partial<StackContext> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'qstamp-'));
  const context: StackContext = { signal, progress: createProgress(), dataDir, cacheDir: findCacheDir(), durable: false, ...changes };
  return { context, dispose: () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }) };
}
