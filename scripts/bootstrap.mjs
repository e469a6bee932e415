/**
 * Runs a script of this project on a machine with only Node.js 20 and npm. Installs the dependencies if they are missing or differ from
 * package-lock.json, then runs the script with Node.js 24: the machine's own, or the one among the dependencies. If two starts install at once, one
 * of them fails; then start it again.
 *
 * node scripts/bootstrap.mjs scripts/<script>.ts [arguments]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNode24, isNode24 } from './stack/packaged-node.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const modules = path.join(root, 'node_modules');

/** @type {(file: string) => Record<string, { version?: string, integrity?: string, optional?: boolean }>} */
const readPackages = (file) => ({ ...JSON.parse(readFileSync(file, 'utf8')).packages, '': {} });

/**
 * Whether the installed packages are those of package-lock.json. npm keeps a list of them, and removes the list before it changes anything, so there
 * is none after an interrupted install.
 */
function isInstalled() {
  const list = path.join(modules, '.package-lock.json');
  if (!existsSync(list)) return false;
  const wanted = readPackages(path.join(root, 'package-lock.json'));
  let installed;
  try {
    installed = readPackages(list);
  } catch {
    return false; // half-written
  }
  if (Object.keys(installed).some((name) => !(name in wanted))) return false;
  return Object.entries(wanted).every(([name, { version, integrity, optional }]) => {
    const found = installed[name];
    return found ? found.version === version && found.integrity === integrity : optional === true;
  });
}

/** @type {NodeJS.Signals | undefined} */
let interruptedBy;

/**
 * Runs a command, passes signals on to it, and returns its exit code. If a signal ended it, the code is 128 plus the number of the signal.
 *
 * @type {(command: string, args: string[], options: import('node:child_process').SpawnOptions) => Promise<number>}
 */
async function run(command, args, options) {
  const child = spawn(command, args, { cwd: root, ...options });
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      interruptedBy = name;
      child.kill(name);
    });
  }
  const [code, signal] = await once(child, 'close');
  return code ?? 128 + os.constants.signals[/** @type {NodeJS.Signals} */ (signal)];
}

/**
 * Refuses a machine for which the dependencies bring no Node 24, before anything is downloaded.
 *
 * @throws Error with what to do
 */
function checkPlatform() {
  const { platform, arch, versions, version } = process;
  if (platform === 'win32') throw new Error('qstamp does not run on Windows itself: run this command in WSL (docs/start.md)');
  const { optionalDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  if (`node-${platform}-${arch}` in optionalDependencies || isNode24(versions.node)) return;
  throw new Error(
    `this is Node ${version}, and qstamp brings its own only for Linux on x64 and arm64: install Node 24.16 or newer (https://nodejs.org)`,
  );
}

async function main() {
  const [script = 'scripts/start.ts', ...args] = process.argv.slice(2);
  checkPlatform();
  if (!isInstalled()) {
    process.stderr.write('Installing packages (npm ci) …\n');
    // The development tools are needed too, so they are installed even if this machine's settings omit them.
    const env = { ...process.env, NODE_ENV: '', npm_config_omit: '', npm_config_include: 'dev' };
    const code = await run('npm', ['ci'], { env, stdio: 'inherit' });
    // The signal that ended npm may reach this process a moment later.
    if (interruptedBy || code > 128) return interruptedBy ? 128 + os.constants.signals[interruptedBy] : code;
    if (code !== 0) throw new Error('npm ci failed: check the network and the free disk space, and run this command again');
  }
  const node = findNode24(root);
  if (!node) throw new Error(`no Node 24 is packaged for ${process.platform} on ${process.arch}: install Node 24.16 or newer`);
  // All processes that are started from here share the compile cache, also in a copy of this checkout.
  const compiled = { NODE_COMPILE_CACHE: path.join(modules, '.cache', 'compiled'), NODE_COMPILE_CACHE_PORTABLE: '1' };
  return run(node, [path.resolve(root, script), ...args], {
    env: { ...compiled, ...process.env },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
}

process.exitCode = await main().catch((/** @type {Error} */ { message }) => {
  process.stderr.write(`\n${message}\n`);
  return 1;
});
