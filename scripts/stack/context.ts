import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createProgress, type Progress } from './progress.ts';

/** The root of this checkout. */
export const checkoutDir = resolve(import.meta.dirname, '../..');

/** The ignored folder with the state of `npm start`. */
export const localDir = join(checkoutDir, '.local');

/** Shared settings for all parts of the local stack. */
export interface StackContext {
  /** Aborted when the user wants to stop. Every step then stops what it started and throws the reason. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** The data and logs of the servers. */
  readonly dataDir: string;
  /** The cache for all checkouts of this user. */
  readonly cacheDir: string;
  /** False for tests: data survives a crash of the process, but not of the machine. */
  readonly durable: boolean;
}

/** `$XDG_CACHE_HOME/qstamp`, or `~/.cache/qstamp`; inside the checkout if that is not writable. */
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

/** Creates a context for servers with temporary data. `dispose` deletes the data. */
export function createTemporaryContext(signal: AbortSignal, changes: Partial<StackContext> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'qstamp-'));
  const context: StackContext = { signal, progress: createProgress(), dataDir, cacheDir: findCacheDir(), durable: false, ...changes };
  return { context, dispose: () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }) };
}
