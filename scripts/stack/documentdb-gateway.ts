import { copyFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, removeTree } from './administrator.ts';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { insideTree, makeTree } from './documentdb-tree.ts';
import { createManagedProcess, type ManagedProcess } from './managed-process.ts';
import { pingMongo } from './mongo-ready.ts';
import { StepError } from './progress.mjs';
import { runCommand } from './run-command.ts';
import { findVersion } from './version.ts';

export const moduleFiles = ['go.mod', 'go.sum', 'main.go'];
export const moduleDir = join(import.meta.dirname, 'gateway');
const title = 'Building the MongoDB gateway (go build)';
/** From this version on Go fetches by itself the toolchain that go.mod asks for. */
const oldestGo = [1, 21] as const;

type Go = (args: readonly string[], onLine?: (line: string) => void) => Promise<string>;

/** Go's own folders, inside the place that is thrown away: nothing is left in the person's home. */
const goSettings = (folder: string) => ({
  GOPATH: `${folder}/gopath`,
  GOCACHE: `${folder}/gocache`,
  GOTOOLCHAIN: 'auto',
  GOFLAGS: '-modcacherw -mod=readonly -buildvcs=false',
  GO111MODULE: 'on',
  CGO_ENABLED: '0',
});

/** What may be set on a machine that reaches modules through a proxy. */
const passedOn = ['GOPROXY', 'GOSUMDB', 'GONOSUMDB', 'GOPRIVATE', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

/** Go of this machine when it is new enough, else Go of the same Debian as PostgreSQL's tree. */
export async function findGo(context: StackContext, work: string): Promise<Go> {
  const { signal } = context;
  const program = findProgram('go');
  if (program !== undefined && (await findVersion(program, oldestGo, context, ['version'])).usable) {
    const env = { ...process.env, ...goSettings(work) };
    return (args, onLine) => runCommand(program, args, { signal, cwd: join(work, 'module'), env, ...(onLine && { onLine }) });
  }
  const mountPoints = ['/etc/resolv.conf', '/etc/hosts'];
  const content = { packages: ['golang-go', 'ca-certificates'], mountPoints };
  await makeTree(context, work, content, 'Unpacking Go, which this machine lacks (mmdebstrap)');
  const given = Object.fromEntries(passedOn.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  const settings = Object.entries({ ...given, ...goSettings('/data'), HOME: '/data' }).map(([name, value]) => `${name}=${value}`);
  const tree = join(work, 'root');
  const network = [...mountPoints, '/etc/ssl/certs'].flatMap((path) => ['--ro-bind-try', path, path]);
  return (args, onLine) => {
    const command = ['/usr/bin/env', '--chdir=/data/module', ...settings, '/usr/bin/go', ...args];
    return runCommand('bwrap', [...insideTree(tree, 'nobody', work, []), ...network, '--', ...command], {
      signal,
      ...(onLine && { onLine }),
    });
  };
}

async function build(context: StackContext, place: string): Promise<void> {
  const work = join(place, 'work');
  mkdirSync(join(work, 'module'), { recursive: true });
  for (const file of moduleFiles) copyFileSync(join(moduleDir, file), join(work, 'module', file));
  const go = await findGo(context, work);
  await context.progress.step(title, async ({ update }) => {
    try {
      let downloaded = 0;
      const count = (line: string) => {
        if (line.startsWith('go: downloading')) update(`fetched ${++downloaded} modules`);
      };
      const packages = (await go(['list', '-deps', '.'], count)).split('\n').filter((line) => !line.startsWith('go:')).length;
      let compiled = 0;
      await go(['build', '-v', '-trimpath', '-ldflags=-s -w', '-o', 'gateway', '.'], () =>
        update(`compiled ${++compiled} of ${packages} packages`),
      );
    } catch (error) {
      context.signal.throwIfAborted();
      throw new StepError(
        title,
        (error as Error).message,
        'check that Go modules can be fetched (GOPROXY), or set MONGODB_URL to a running MongoDB',
        error,
      );
    }
  });
  renameSync(join(work, 'module', 'gateway'), join(place, 'gateway'));
  await removeTree(work);
}

/** The gateway's program; built once from our Go module. */
export async function findGateway(context: StackContext): Promise<string> {
  const key = recipeKey(...moduleFiles.map((file) => readFileSync(join(moduleDir, file), 'utf8')));
  return join(await cached(context, 'gateway', key, (place) => build(context, place)), 'gateway');
}

/** The gateway between a MongoDB driver and PostgreSQL, both on loopback. */
export function createGateway({ dataDir }: StackContext, program: string, postgresPort: number, port: number): ManagedProcess {
  const stateDir = join(dataDir, 'documentdb', 'gateway');
  mkdirSync(stateDir, { recursive: true });
  return createManagedProcess({
    name: 'The MongoDB gateway',
    command: program,
    args: [`postgres://postgres@127.0.0.1:${postgresPort}/postgres`, `127.0.0.1:${port}`, stateDir],
    logFile: join(dataDir, 'logs', 'gateway.log'),
    stopSignal: 'SIGTERM',
    checkReady: () => pingMongo(port),
  });
}
