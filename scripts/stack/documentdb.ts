import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { insideTree, installPackages, makeTree, removeTree, treeRecipe } from './debian.ts';
import { pingMongo } from './mongod.ts';
import { findFreePort, isPortFree } from './ports.ts';
import { StepError } from './progress.ts';
import { findProgram, findVersion, processTree, runCommand, runToEnd } from './run.ts';
import { createServerProcess, type ServerOptions, type ServerProcess, type StackServer } from './server-process.ts';

/**
 * MongoDB's protocol and semantics with durable storage on a machine without MongoDB: PostgreSQL with the documentdb extension, from a tree of
 * Debian packages, behind the FerretDB gateway, which is built here. CONTRIBUTING.md "DocumentDB" has the reasons.
 */

/** A DocumentDB server with access to its two processes, so that a test can break only one of them. */
export interface DocumentDbServer extends StackServer {
  readonly postgres: ServerProcess;
  readonly postgresPort: number;
  readonly gateway: ServerProcess;
}

export async function startDocumentDb(context: StackContext, options: ServerOptions): Promise<DocumentDbServer> {
  const [{ postgres, port: postgresPort }, program] = await Promise.all([preparePostgres(context), findGateway(context)]);
  const port = await findFreePort(options.preferredPort);
  const gateway = createGateway(context, program, postgresPort, port);
  const stop = async () => {
    await gateway.stop();
    await postgres.stop();
  };
  const start = async (signal?: AbortSignal) => {
    await postgres.start(signal);
    try {
      await gateway.start(signal);
    } catch (error) {
      await stop();
      throw error;
    }
  };
  await start(context.signal);
  return {
    url: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    source: "DocumentDB on PostgreSQL 18 of Debian's packages, behind the FerretDB gateway",
    port,
    postgres,
    postgresPort,
    gateway,
    start,
    stop,
    kill: async () => {
      await Promise.all([gateway.kill(), postgres.kill()]);
    },
    pause: gateway.pause,
    resume: gateway.resume,
    onUnexpectedExit: (listener) => {
      gateway.onUnexpectedExit(listener);
      postgres.onUnexpectedExit(listener);
    },
  };
}

const packages = ['postgresql-18-documentdb', 'passwd'];
/** The cache key of the tree. */
export const treeKey = recipeKey(...treeRecipe, ...packages);

/** Whether everything for DocumentDB is installed, so that no administrator is needed. */
export const hasDocumentDb = ({ cacheDir }: StackContext): boolean =>
  findProgram('bwrap') !== undefined && existsSync(join(cacheDir, `documentdb-tree-${treeKey}`));

/**
 * Tries what PostgreSQL will need, before it is downloaded.
 *
 * @throws StepError if this machine or container refuses user namespaces
 */
async function checkNamespaces({ signal }: StackContext): Promise<void> {
  const trial = ['--unshare-user', '--ro-bind', '/', '/', '--dev', '/dev', '--unshare-pid', '--proc', '/proc', '--die-with-parent', 'true'];
  const { code, output } = await runToEnd('bwrap', trial, { signal });
  if (code === 0) return;
  const remedy =
    'start Docker or Podman, or set MONGODB_URL to a running MongoDB, or allow user namespaces ' +
    '(Ubuntu 24.04: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0)';
  throw new StepError('Starting programs without root (bubblewrap)', output.trim(), remedy);
}

/** A Debian tree with PostgreSQL 18 and the documentdb extension. It is made once and has about 560 MB. */
export async function findDocumentDbTree(context: StackContext): Promise<string> {
  if (findProgram('bwrap') === undefined) await installPackages(context, ['bubblewrap']);
  await checkNamespaces(context);
  const title = 'Unpacking PostgreSQL 18 with DocumentDB (mmdebstrap)';
  return join(await cached(context, 'documentdb-tree', treeKey, (place) => makeTree(context, place, packages, title)), 'root');
}

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

/** Describes PostgreSQL in the tree as a server process, with its data in `<folder>/pg`. */
function createPostgres(tree: string, folder: string, logFile: string, port: number, durable: boolean): ServerProcess {
  // With this planner one index serves filter, order and count.
  const settings = [`port=${port}`, 'documentdb.enableCompositeIndexPlanner=on', ...(durable ? [] : ['fsync=off'])];
  const command = [`${programs}/postgres`, '-D', '/data/pg', ...settings.flatMap((setting) => ['-c', setting])];
  const postgres = createServerProcess({
    name: 'PostgreSQL',
    command: 'bwrap',
    args: insideTree(tree, 'postgres', folder, command),
    logFile,
    stopSignal: 'SIGINT',
    // bubblewrap waits outside the namespace; PostgreSQL is its only child.
    findServer: (bubblewrap) => processTree(bubblewrap)[1],
    checkReady: async () => {
      if (await isPortFree(port)) throw new Error('it does not listen yet');
    },
  });
  // After a SIGKILL, PostgreSQL's child processes may keep the shared memory for a moment, and PostgreSQL refuses to start during this time.
  const isHeld = /pre-existing shared memory|lock file "postmaster.pid" already exists/;
  return { ...postgres, start: (signal) => repeatWhile(isHeld, () => postgres.start(signal)) };
}

/** Runs `run` again for some seconds while it fails with this message. */
async function repeatWhile<T>(message: RegExp, run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === 20 || !message.test((error as Error).message)) throw error;
      await delay(250);
    }
  }
}

/** The folder with a data directory `pg` that has the extension, for copying. It is made once, because initdb and CREATE EXTENSION take seconds. */
export const findTemplate = (context: StackContext, tree: string): Promise<string> =>
  cached(context, 'documentdb-data', recipeKey(treeKey, configuration), async (place) => {
    const { signal } = context;
    const inTree = (program: string, ...args: string[]) =>
      runCommand('bwrap', insideTree(tree, 'postgres', place, [`${programs}/${program}`, ...args]), { signal });
    await inTree('initdb', '-D', '/data/pg', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C');
    await appendFile(join(place, 'pg', 'postgresql.conf'), configuration);
    const port = await findFreePort();
    const postgres = createPostgres(tree, place, join(place, 'postgres.log'), port, false);
    await postgres.start(signal);
    try {
      const psql = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', '-c'];
      await repeatWhile(/starting up/, () => inTree('psql', ...psql, 'CREATE EXTENSION IF NOT EXISTS documentdb CASCADE'));
    } finally {
      await postgres.stop();
    }
  });

/** Prepares PostgreSQL with DocumentDB, with its data in `<dataDir>/documentdb/pg`. It is not started yet. */
async function preparePostgres(context: StackContext): Promise<{ postgres: ServerProcess; port: number }> {
  const { dataDir, durable, signal } = context;
  const tree = await findDocumentDbTree(context);
  const template = await findTemplate(context, tree);
  const folder = join(dataDir, 'documentdb');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'pg'))) {
    const partial = join(folder, 'pg.partial');
    await removeTree(partial);
    await runCommand('cp', ['-a', '--reflink=auto', join(template, 'pg'), partial], { signal });
    renameSync(partial, join(folder, 'pg'));
  }
  const port = await findFreePort();
  return { postgres: createPostgres(tree, folder, join(dataDir, 'logs', 'postgres.log'), port, durable), port };
}

const moduleDir = join(import.meta.dirname, 'gateway');
/** The oldest Go that downloads the toolchain in go.mod by itself. */
const oldestGo = [1, 21] as const;

/** Settings that put Go's folders inside a temporary folder, so that nothing is left in the user's home. */
const goSettings = (folder: string) => ({
  GOPATH: `${folder}/gopath`,
  GOCACHE: `${folder}/gocache`,
  GOTOOLCHAIN: 'auto',
  GOFLAGS: '-modcacherw -buildvcs=false',
  GO111MODULE: 'on',
  CGO_ENABLED: '0',
});

type Go = (...args: readonly string[]) => Promise<string>;

/**
 * Returns a function that runs Go in `<work>/module`: this machine's Go if it is new enough, otherwise Go from the same Debian suites as PostgreSQL's
 * tree.
 */
async function findGo(context: StackContext, work: string): Promise<Go> {
  const { signal } = context;
  const program = findProgram('go');
  if (program !== undefined && (await findVersion(program, oldestGo, context, ['version'])).usable) {
    const env = { ...process.env, ...goSettings(work) };
    return (...args) => runCommand(program, args, { signal, cwd: join(work, 'module'), env });
  }
  await makeTree(context, work, ['golang-go', 'ca-certificates'], 'Unpacking Go, which this machine lacks (mmdebstrap)');
  const network = ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs'].flatMap((path) => ['--ro-bind-try', path, path]);
  const inside = insideTree(join(work, 'root'), 'nobody', work, [...network, '--chdir', '/data/module', '--', '/usr/bin/go']);
  const env = { ...process.env, ...goSettings('/data'), HOME: '/data' };
  return (...args) => runCommand('bwrap', [...inside, ...args], { signal, env });
}

/** The path of the gateway program, which is built once from our Go module. `build` runs Go in the module's folder. */
export async function buildGateway(
  context: StackContext,
  name: string,
  key: string,
  build: (go: Go, module: string) => Promise<unknown>,
): Promise<string> {
  const title = `Building the MongoDB ${name} (go build)`;
  const folder = await cached(context, name, key, async (place) => {
    const work = join(place, 'work');
    const module = join(work, 'module');
    cpSync(moduleDir, module, { recursive: true });
    const go = await findGo(context, work);
    await context.progress
      .step(title, () => build(go, module))
      .catch((error) => {
        context.signal.throwIfAborted();
        const remedy = 'check that Go modules can be fetched (GOPROXY), or set MONGODB_URL to a running MongoDB';
        throw new StepError(title, error.message, remedy, error);
      });
    renameSync(join(module, 'gateway'), join(place, 'gateway'));
    await removeTree(work);
  });
  return join(folder, 'gateway');
}

export const gatewayRecipe = (): string[] => readdirSync(moduleDir).map((file) => readFileSync(join(moduleDir, file), 'utf8'));
export const goBuild = ['build', '-trimpath', '-ldflags=-s -w', '-o', 'gateway'];

export const findGateway = (context: StackContext): Promise<string> =>
  buildGateway(context, 'gateway', recipeKey(...gatewayRecipe()), (go) => go(...goBuild, '-mod=readonly', '.'));

/** Describes the gateway between a MongoDB driver and PostgreSQL, both on the loopback address. */
function createGateway({ dataDir }: StackContext, program: string, postgresPort: number, port: number): ServerProcess {
  const stateDir = join(dataDir, 'documentdb', 'gateway');
  mkdirSync(stateDir, { recursive: true });
  return createServerProcess({
    name: 'The MongoDB gateway',
    command: program,
    args: [`postgres://postgres@127.0.0.1:${postgresPort}/postgres`, `127.0.0.1:${port}`, stateDir],
    logFile: join(dataDir, 'logs', 'gateway.log'),
    stopSignal: 'SIGTERM',
    checkReady: () => pingMongo(port),
  });
}
