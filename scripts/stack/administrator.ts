import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { StackContext } from './context.ts';
import { withLock } from './lock.mjs';
import { type CommandOptions, runCommand } from './run-command.ts';

/** The path of a program, when it is on PATH. */
export function findProgram(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

const isRoot = () => process.getuid?.() === 0;

/** True when this is a Debian-like machine on which we may install packages. */
export function canInstallPackages(): boolean {
  return findProgram('apt-get') !== undefined && (isRoot() || findProgram('sudo') !== undefined);
}

/**
 * Runs a command as root: directly, or through sudo, which may ask for the password when there is a terminal.
 * An abort lets the command finish what must not be cut in two.
 */
export function runAsRoot(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  if (isRoot()) return runCommand(command, args, options);
  const interactive = process.stdin.isTTY === true;
  const env = options.env ?? {};
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const { env: _, ...rest } = options;
  return runCommand('sudo', [...(interactive ? [] : ['-n']), ...settings, command, ...args], { ...rest, interactive });
}

/** Removes a folder that root may have filled, and never crosses into another file system that is mounted below it. */
export async function removeTree(folder: string): Promise<void> {
  if (isRoot()) {
    await runCommand('rm', ['-rf', '--one-file-system', '--', folder]);
    return;
  }
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await runAsRoot('rm', ['-rf', '--one-file-system', '--', folder]);
  }
}

const lockWait = 'DPkg::Lock::Timeout=300';

/** Installs Debian packages; reads the package lists first when they are missing or too old to find them. */
export async function installPackages({ signal, progress }: StackContext, packages: readonly string[]): Promise<void> {
  const options = (update: (line: string) => void): CommandOptions => ({
    signal,
    interrupt: 'command',
    env: { ...(isRoot() ? process.env : {}), DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    onLine: (line) => update(line.replace(/\s*\.\.\.$/, '').slice(0, 80)),
  });
  const title = `Installing ${packages.join(', ')} (apt-get)`;
  await withLock(
    'apt-get',
    () =>
      progress.step(title, async ({ update }) => {
        const install = () =>
          runAsRoot('apt-get', ['install', '-y', '--no-install-recommends', '-o', lockWait, ...packages], options(update));
        try {
          await install();
        } catch (error) {
          signal.throwIfAborted();
          update(`first try failed (${(error as Error).message.split('\n')[0]}); reading the package lists`);
          await runAsRoot('apt-get', ['update', '-o', lockWait], options(update));
          await install();
        }
      }),
    { signal, onWait: () => progress.say(`  ${title}: another start is installing; waiting`) },
  );
}
