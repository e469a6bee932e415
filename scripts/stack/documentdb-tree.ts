import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, installPackages, runAsRoot } from './administrator.ts';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { StepError } from './progress.mjs';
import { CommandError } from './run-command.ts';

/** The first Debian suites that have PostgreSQL's documentdb extension. */
const suites = ['forky', 'sid'];
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

const treeOptions: readonly [string, ...string[]] = [
  '--variant=essential',
  // Mirrors may lag behind the date in their lists.
  '--aptopt=Acquire::Check-Valid-Until "false"',
  '--aptopt=Apt::Install-Recommends "false"',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--customize-hook=mkdir -p "$1/data"',
];

/**
 * The Debian mirror that this machine's own apt uses, so that a proxy or a mirror of the house is used here too; undefined on
 * machines whose apt knows none (Ubuntu), where mmdebstrap takes its default.
 */
export function findMirror(etcApt = '/etc/apt'): string | undefined {
  const files = globSync(['sources.list', 'sources.list.d/*.list', 'sources.list.d/*.sources'], { cwd: etcApt });
  for (const file of files.sort()) {
    for (const line of readFileSync(join(etcApt, file), 'utf8').split('\n')) {
      const uri = /^(?:deb\s+(?:\[[^\]]*\]\s+)?|URIs:\s*)(https?:\/\/\S+\/debian\/?)(?:\s|$)/.exec(line)?.[1];
      if (uri) return uri;
    }
  }
  return undefined;
}

export interface TreeContent {
  readonly packages: readonly string[];
  /** Empty files to mount others over. */
  readonly mountPoints?: readonly string[];
  /** For a program alone that is copied out: nothing is configured, which takes a third of the time. */
  readonly isUnpackedOnly?: boolean;
}

/** Unpacks a small Debian with the given packages into `<folder>/root`. */
export async function makeTree(context: StackContext, folder: string, content: TreeContent, title: string): Promise<void> {
  const { packages, mountPoints = [], isUnpackedOnly = false } = content;
  const [variant, ...common] = treeOptions;
  const options: string[] = [
    isUnpackedOnly ? '--variant=extract' : variant,
    ...common,
    ...mountPoints.map((path) => `--customize-hook=touch "$1${path}"`),
    `--include=${packages.join(',')}`,
  ];
  const { signal, progress } = context;
  if (!existsSync(keyring)) await installPackages(context, ['debian-archive-keyring']);
  const mirror = process.env.DEBIAN_MIRROR || findMirror();
  await progress.step(title, async ({ update }) => {
    for (const suite of suites) {
      const source = mirror === undefined ? [] : [`deb [signed-by=${keyring}] ${mirror} ${suite} main`];
      const onLine = (line: string) => {
        if (/^I: [a-z].*\.\.\.$/.test(line)) update(`${line.slice(3, -3)} (${suite})`);
      };
      try {
        await runAsRoot('mmdebstrap', [...options, suite, join(folder, 'root'), ...source], {
          signal,
          onLine,
        });
        return;
      } catch (error) {
        signal.throwIfAborted();
        const missingHere = error instanceof CommandError && /Unable to locate package|has no installation candidate/.test(error.output);
        if (!missingHere || suite === suites.at(-1)) {
          throw new StepError(
            title,
            (error as Error).message,
            'check the network and the free disk space (1.5 GB), or name another mirror with DEBIAN_MIRROR, or set MONGODB_URL to a running MongoDB',
            error,
          );
        }
        await runAsRoot('rm', ['-rf', '--one-file-system', '--', join(folder, 'root')]);
      }
    }
  });
}

const packages = ['postgresql-18-documentdb', 'passwd'];
/** Names the recipe of the tree. */
export const treeKey = recipeKey(...suites, ...treeOptions, ...packages);

/** True when everything for DocumentDB's tree is there already, so that no administrator is needed. */
export function hasDocumentDbTree({ cacheDir }: Pick<StackContext, 'cacheDir'>): boolean {
  return findProgram('bwrap') !== undefined && existsSync(join(cacheDir, `documentdb-tree-${treeKey}`));
}

/** A Debian tree with PostgreSQL 18 and the documentdb extension; made once, some 560 MB. */
export async function findDocumentDbTree(context: StackContext): Promise<string> {
  const missing = ['mmdebstrap', 'bwrap'].filter((program) => findProgram(program) === undefined);
  if (missing.length > 0 && !hasDocumentDbTree(context)) {
    await installPackages(
      context,
      missing.map((program) => (program === 'bwrap' ? 'bubblewrap' : program)),
    );
  }
  const folder = await cached(context, 'documentdb-tree', treeKey, (place) =>
    makeTree(context, place, { packages }, 'Unpacking PostgreSQL 18 with DocumentDB (mmdebstrap)'),
  );
  return join(folder, 'root');
}

/**
 * Arguments of bubblewrap that run a command inside the tree: as the given user of the tree, not as root, with one folder to write
 * to. It is the first of a process namespace of its own, so the kernel ends all that it started together with it: pg_cron's
 * launcher, for one, does not notice the end of its PostgreSQL.
 */
export function insideTree(tree: string, user: string, dataDir: string, command: readonly string[]): string[] {
  const entry = readFileSync(join(tree, 'etc/passwd'), 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === user);
  const [, , uid, gid] = entry ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`the tree ${tree} has no user ${user}`);
  mkdirSync(dataDir, { recursive: true });
  return [
    ...['--unshare-user', '--uid', uid, '--gid', gid, '--ro-bind', tree, '/', '--bind', dataDir, '/data'],
    ...['--tmpfs', '/tmp', '--dev', '/dev', '--unshare-pid', '--as-pid-1', '--proc', '/proc', '--die-with-parent', ...command],
  ];
}
