/**
 * Runs a script of this project on a machine that has nothing but Node 20 and npm: installs the dependencies when they are
 * missing or not what package-lock.json says, then runs the script with the machine's own Node when that is new enough, else with
 * the Node 24 among them.
 *
 *     node scripts/bootstrap.mjs scripts/<script>.ts [arguments]
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withLock } from './stack/lock.mjs';
import { findNode24 } from './stack/packaged-node.mjs';
import { createProgress, StepError } from './stack/progress.mjs';

const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
const modules = path.join(root, 'node_modules');
const progress = createProgress();

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, os?: string[] }} LockedPackage */

/**
 * @param {string} file
 * @returns {Record<string, LockedPackage>}
 */
function readLock(file) {
  const { '': _root, ...packages } = JSON.parse(readFileSync(file, 'utf8')).packages;
  return packages;
}

/** npm keeps a list of what it installed, and removes it first when it changes anything: a broken-off install has none. */
function isInstalled() {
  const installedList = path.join(modules, '.package-lock.json');
  if (!existsSync(installedList)) return false;
  const wanted = readLock(path.join(root, 'package-lock.json'));
  const installed = readLock(installedList);
  return (
    Object.keys(installed).every((name) => name in wanted) &&
    Object.entries(wanted).every(([name, { version, integrity, optional }]) => {
      const found = installed[name];
      return found ? found.version === version && found.integrity === integrity : optional === true;
    })
  );
}

/** @throws StepError where there is no Node that can run the script. */
function findNode() {
  const node = findNode24(root);
  if (node !== undefined) return node;
  throw new StepError(
    'Finding Node 24',
    `this is Node ${process.version}, and the dependencies hold none for ${process.platform} on ${process.arch}`,
    'install Node 24.16 or newer, and run this command again with it',
  );
}

/** npm's cache, inside the checkout where the usual one cannot be written (a read-only home). */
function npmCache() {
  const usual = process.env.npm_config_cache ?? path.join(os.homedir(), '.npm');
  let existing = usual;
  while (!existsSync(existing)) existing = path.dirname(existing);
  try {
    accessSync(existing, constants.W_OK);
    return usual;
  } catch {
    return path.join(root, '.local', 'npm-cache');
  }
}

const patienceMs = 10_000;

/** What we run at the moment. @type {import('node:child_process').ChildProcess | undefined} */
let child;
/** @type {import('node:child_process').ChildProcess | undefined} */
let npm;
/** @type {NodeJS.Signals | undefined} */
let interruptedBy;

/**
 * @param {import('node:child_process').ChildProcess} started
 * @returns {Promise<number>} its exit code, 128 + the signal when one ended it
 */
function untilEnd(started) {
  child = started;
  return new Promise((resolve, reject) => {
    started.once('error', reject);
    started.once('close', (code, signal) => {
      child = undefined;
      resolve(code ?? 128 + (signal ? os.constants.signals[signal] : 0));
    });
  });
}

/** @param {import('./stack/progress.mjs').Step} step */
async function npmCi({ update }) {
  const ours = process.env.npm_execpath;
  const [command, args] = ours?.endsWith('.js') && existsSync(ours) ? [process.execPath, [ours]] : ['npm', []];
  const installer = spawn(command, [...args, 'ci', '--loglevel=http', '--no-audit', '--no-fund', `--cache=${npmCache()}`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    // `npm start --omit=dev` is about starting; the project's tools are needed all the same.
    env: { ...process.env, NODE_ENV: '', npm_config_omit: '', npm_config_include: 'dev' },
  });
  npm = installer;
  const total = Object.keys(readLock(path.join(root, 'package-lock.json'))).length;
  let fetched = 0;
  let output = '';
  for (const stream of [installer.stdout, installer.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      for (const line of text.split('\n')) {
        if (line.startsWith('npm http ')) {
          if (line.includes('.tgz ')) update(`fetched ${++fetched} of at most ${total} packages`);
        } else if (line && !line.includes('EBADENGINE')) output += `${line}\n`;
      }
    });
  }
  let code;
  try {
    code = await untilEnd(installer);
  } catch (error) {
    throw new StepError('Installing packages', String(error), 'install npm, which comes with Node', error);
  }
  if (interruptedBy) return;
  if (code !== 0) {
    const why = output.trimEnd().split('\n').slice(-12).join('\n');
    throw new StepError(
      'Installing packages (npm ci)',
      why || `npm ended with code ${code}`,
      'check the network and the free disk space, and run this command again',
    );
  }
}

async function install() {
  const title = 'Installing packages (npm ci)';
  const onWait = () => progress.say(`  ${title}: another start is at it; waiting`);
  await withLock(
    modules,
    async () => {
      if (!isInstalled()) await progress.step(title, npmCi);
    },
    { onWait },
  );
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/** @param {NodeJS.Signals} signal */
function passOn(signal) {
  if (!child) process.exit(128 + os.constants.signals[signal]);
  const first = interruptedBy === undefined;
  interruptedBy = signal;
  const { pid } = child;
  if (pid === undefined) return;
  if (child !== npm) return send(pid, signal);
  // npm runs in a group of its own, so that it ends with all its children; a half-made install is made anew by the next start.
  if (first) progress.say('stopping …');
  send(-pid, 'SIGTERM');
  if (first) setTimeout(() => child === npm && send(-pid, 'SIGKILL'), patienceMs).unref();
}

async function main() {
  const [script, ...args] = process.argv.slice(2);
  if (!script) throw new StepError('Reading the command line', 'no script is named', 'node scripts/bootstrap.mjs scripts/start.ts');
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, passOn);
  if (process.env.npm_lifecycle_event) {
    // When npm is killed (SIGKILL) it passes no signal on; that our parent has changed tells that it is gone.
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && passOn('SIGTERM'), 1_000).unref();
  }

  if (!isInstalled()) await install();
  if (interruptedBy) return 128 + os.constants.signals[interruptedBy];
  // Every process that is started from here on finds the TypeScript of the one before it compiled, in a copy of this checkout too.
  const compiled = { NODE_COMPILE_CACHE: path.join(modules, '.cache', 'compiled'), NODE_COMPILE_CACHE_PORTABLE: '1' };
  const env = { ...compiled, ...process.env };
  return untilEnd(spawn(findNode(), [path.resolve(root, script), ...args], { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] }));
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    process.stderr.write(`\n${error instanceof StepError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  },
);
