import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { insideTree, treeKey } from './documentdb-tree.ts';
import { createManagedProcess, type ManagedProcess } from './managed-process.ts';
import { findFreePort, isPortFree } from './ports.ts';
import { processTree } from './process-group.ts';
import { StepError } from './progress.mjs';
import { runCommand } from './run-command.ts';

const programs = '/usr/lib/postgresql/18/bin';

const configuration = `
listen_addresses = '127.0.0.1'
unix_socket_directories = '/tmp'
shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb'
cron.database_name = 'postgres'
# Without it TTL indexes and index builds on filled collections silently never run.
cron.use_background_workers = on
max_worker_processes = 16
max_connections = 200
`;

interface PostgresPlace {
  readonly tree: string;
  /** Holds the data directory `pg`. */
  readonly folder: string;
  readonly logFile: string;
  readonly port: number;
  readonly durable: boolean;
}

function createPostgres({ tree, folder, logFile, port, durable }: PostgresPlace): ManagedProcess {
  // With the planner one index serves filter, order and count. Here, and not in the file, so that older data directories have it too.
  const settings = [`port=${port}`, 'documentdb.enableCompositeIndexPlanner=on', ...(durable ? [] : ['fsync=off'])];
  return createManagedProcess({
    name: 'PostgreSQL',
    command: 'bwrap',
    args: insideTree(tree, 'postgres', folder, [
      `${programs}/postgres`,
      '-D',
      '/data/pg',
      ...settings.flatMap((setting) => ['-c', setting]),
    ]),
    logFile,
    stopSignal: 'SIGINT',
    // bubblewrap waits outside; PostgreSQL is its only child.
    findServer: (bubblewrap) => processTree(bubblewrap)[1],
    checkReady: async () => {
      if (await isPortFree(port)) throw new Error('not listening yet');
    },
  });
}

/** A data directory with the extension in it; made once (initdb and CREATE EXTENSION take seconds), then copied. */
async function makeTemplate(context: StackContext, tree: string, place: string): Promise<void> {
  const { signal, progress } = context;
  const inTree = (...command: string[]) => runCommand('bwrap', insideTree(tree, 'postgres', place, command), { signal });
  await progress.step('Preparing a DocumentDB database (initdb)', async ({ update }) => {
    try {
      await inTree(`${programs}/initdb`, '-D', '/data/pg', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C');
    } catch (error) {
      signal.throwIfAborted();
      throw new StepError(
        'Starting PostgreSQL without root (bubblewrap)',
        (error as Error).message,
        'allow user namespaces on this machine or in this container, or set MONGODB_URL to a running MongoDB',
        error,
      );
    }
    await appendFile(join(place, 'pg', 'postgresql.conf'), configuration);
    update('creating the extension');
    const port = await findFreePort();
    const postgres = createPostgres({ tree, folder: place, logFile: join(place, 'postgres.log'), port, durable: false });
    await postgres.start(signal);
    try {
      const psql = [`${programs}/psql`, '-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', '-c'];
      for (let tries = 0; ; tries += 1) {
        try {
          await inTree(...psql, 'CREATE EXTENSION IF NOT EXISTS documentdb CASCADE');
          break;
        } catch (error) {
          if (tries === 20 || !/starting up/.test((error as Error).message)) throw error;
          await delay(200, undefined, { signal });
        }
      }
    } finally {
      await postgres.stop();
    }
  });
}

const startTries = 20;

/** After a SIGKILL the last back ends may hold the shared memory for a moment longer, and PostgreSQL refuses to start until then. */
async function startPatiently(postgres: ManagedProcess, signal: AbortSignal | undefined): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await postgres.start(signal);
    } catch (error) {
      if (tries === startTries || !/pre-existing shared memory|lock file "postmaster.pid" already exists/.test((error as Error).message))
        throw error;
      await delay(250);
    }
  }
}

/** A data directory `pg` with the extension in it, to be copied. */
export const findTemplate = (context: StackContext, tree: string): Promise<string> =>
  cached(context, 'documentdb-data', recipeKey(treeKey, configuration), (place) => makeTemplate(context, tree, place));

/** PostgreSQL with DocumentDB, its data in `<dataDir>/documentdb/pg`. */
export async function preparePostgres(context: StackContext, tree: string): Promise<{ postgres: ManagedProcess; port: number }> {
  const { dataDir, durable, signal } = context;
  const template = await findTemplate(context, tree);
  const folder = join(dataDir, 'documentdb');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'pg'))) {
    const partial = join(folder, 'pg.partial');
    await runCommand('rm', ['-rf', partial], { signal });
    await runCommand('cp', ['-a', '--reflink=auto', join(template, 'pg'), partial], { signal });
    renameSync(partial, join(folder, 'pg'));
  }
  const port = await findFreePort();
  const postgres = createPostgres({ tree, folder, logFile: join(dataDir, 'logs', 'postgres.log'), port, durable });
  return { postgres: { ...postgres, start: (startSignal) => startPatiently(postgres, startSignal) }, port };
}
