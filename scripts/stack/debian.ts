import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from './context.ts';
import { StepError } from './progress.ts';
import { CommandError, findProgram, type RunOptions, runCommand, runToEnd } from './run.ts';

const isRoot = () => process.getuid?.() === 0;

/** Whether this is a Debian-like machine on which we may install packages. */
export const canInstallPackages = (): boolean => findProgram('apt-get') !== undefined && (isRoot() || findProgram('sudo') !== undefined);

const proxySettings = ['http_proxy', 'https_proxy', 'no_proxy'].flatMap((name) => [name, name.toUpperCase()]);

/**
 * Runs a command as root: directly, or through sudo, which may ask for the password if there is a terminal. sudo empties the environment, but a proxy
 * is still needed.
 *
 * @throws StepError if sudo refuses
 */
async function runAsRoot(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  if (isRoot()) return runCommand(command, args, options);
  const proxies = proxySettings.flatMap((name) => (process.env[name] ? [`${name}=${process.env[name]}`] : []));
  const asRoot = ['env', ...proxies, command, ...args];
  try {
    return process.stdin.isTTY
      ? await runCommand('sudo', asRoot, { ...options, terminal: 'input' })
      : await runCommand('sudo', ['-n', ...asRoot], options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if ((await runToEnd('sudo', ['-n', 'true'])).code === 0) throw error;
    const why = process.stdin.isTTY ? 'sudo refused' : 'sudo asks for a password, and there is no terminal to ask in';
    const ways = 'start Docker or Podman, or set REDIS_URL and MONGODB_URL to running servers';
    throw new StepError(`Running ${command} as root`, why, `run this command in a terminal, as a user who may use sudo; or ${ways}`, error);
  }
}

/** Removes a folder that may contain files of root. It does not enter other file systems below the folder. */
export async function removeTree(folder: string): Promise<void> {
  const args = ['-rf', ...(process.platform === 'linux' ? ['--one-file-system'] : []), '--', folder];
  const { code } = await runToEnd('rm', args);
  if (code !== 0) await runAsRoot('rm', args, {});
}

/**
 * Installs Debian packages. Updates the package lists first if they are missing or too old to find them. `flock` makes our apt-get runs wait for
 * each other.
 */
export async function installPackages({ signal, progress }: StackContext, packages: readonly string[]): Promise<void> {
  await progress.step(`Installing ${packages.join(', ')} (apt-get)`, async () => {
    const apt = (...args: string[]) => {
      const settings = ['DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C'];
      const command = ['--close', '/etc/apt', 'env', ...settings, 'apt-get', '-o', 'DPkg::Lock::Timeout=300', ...args];
      return runAsRoot('flock', command, { signal, endsGently: true });
    };
    const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
    try {
      await install();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StepError) throw error;
      await apt('update');
      await install();
    }
  });
}

/** The first Debian suites that have PostgreSQL's documentdb extension. */
const suites = ['forky', 'sid'];
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const treeOptions = [
  // A mirror may be older than the validity date in its package lists.
  '--aptopt=Acquire::Check-Valid-Until "false"',
  '--aptopt=Apt::Install-Recommends "false"',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  // Creates mount points for files and folders from outside the tree.
  '--customize-hook=mkdir -p "$1/data" && touch "$1/etc/resolv.conf" "$1/etc/hosts"',
];
/** The recipe of each tree of Debian packages. */
export const treeRecipe: readonly string[] = [...suites, ...treeOptions];

/** The Debian mirror of this machine's apt. Undefined if apt has none, as on Ubuntu: then mmdebstrap uses its default. */
export function findMirror(etcApt = '/etc/apt'): string | undefined {
  const files = globSync(['sources.list', 'sources.list.d/*.list', 'sources.list.d/*.sources'], { cwd: etcApt }).sort();
  const text = files.map((file) => readFileSync(join(etcApt, file), 'utf8')).join('\n');
  return /^(?:deb\s+(?:\[[^\]]*\]\s+)?|URIs:\s*)(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(text)?.[1];
}

/**
 * Unpacks a small Debian with the given packages into `<folder>/root`.
 *
 * @param variant `extract`: packages are not configured. That is enough for a program that is copied out, and takes a third of the time
 */
export async function makeTree(
  context: StackContext,
  folder: string,
  packages: readonly string[],
  title: string,
  variant: 'essential' | 'extract' = 'essential',
): Promise<void> {
  const { signal, progress } = context;
  if (findProgram('mmdebstrap') === undefined) await installPackages(context, ['mmdebstrap']);
  if (!existsSync(keyring)) await installPackages(context, ['debian-archive-keyring']);
  const mirror = process.env.DEBIAN_MIRROR || findMirror();
  const root = join(folder, 'root');
  const unpack = (suite: string) => {
    const source = mirror === undefined ? [] : [`deb [signed-by=${keyring}] ${mirror} ${suite} main`];
    return runAsRoot('mmdebstrap', [`--variant=${variant}`, ...treeOptions, `--include=${packages.join(',')}`, suite, root, ...source], {
      signal,
    });
  };
  await progress.step(title, async () => {
    for (const suite of suites) {
      try {
        await unpack(suite);
        return;
      } catch (error) {
        signal.throwIfAborted();
        await removeTree(root);
        const isMissing = error instanceof CommandError && /Unable to locate package|has no installation candidate/.test(error.output);
        if (isMissing && suite !== suites.at(-1)) continue;
        if (error instanceof StepError) throw error;
        const isOldKeyring = error instanceof CommandError && /NO_PUBKEY|EXPKEYSIG|KEYEXPIRED|is not signed/.test(error.output);
        const remedy = isOldKeyring
          ? `${keyring} is too old for Debian's newest packages: install the package debian-archive-keyring of Debian ${suites[0]}`
          : 'check the network and the free disk space (1.5 GB), or name another mirror with DEBIAN_MIRROR';
        throw new StepError(title, (error as Error).message, `${remedy}, or set MONGODB_URL to a running MongoDB`, error);
      }
    }
  });
}

/**
 * Returns the arguments of `bwrap` (bubblewrap) that run a command inside a tree: as a user of the tree, not as root, with one writable folder
 * (`/data`). The command is the first process of its own namespace, so the kernel ends all its children with it. This matters for example for
 * pg_cron's launcher, which does not notice the end of its PostgreSQL.
 */
export function insideTree(tree: string, user: string, dataDir: string, command: readonly string[]): string[] {
  const users = readFileSync(join(tree, 'etc/passwd'), 'utf8');
  const [, uid, gid] = new RegExp(`^${user}:[^:]*:(\\d+):(\\d+):`, 'm').exec(users) ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`the tree ${tree} has no user ${user}`);
  mkdirSync(dataDir, { recursive: true });
  return [
    ...['--unshare-user', '--uid', uid, '--gid', gid, '--ro-bind', tree, '/', '--bind', dataDir, '/data'],
    ...['--tmpfs', '/tmp', '--dev', '/dev', '--unshare-pid', '--as-pid-1', '--proc', '/proc', '--die-with-parent', ...command],
  ];
}
