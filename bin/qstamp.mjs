#!/usr/bin/env node
/** Runs a command of src/cli, or an operator command of src/operator, with Node 24: the running Node or the one in the dependencies. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import util from 'node:util';
import { findNode24, isNode24 } from '../scripts/stack/packaged-node.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

const node = isNode24() ? process.execPath : findNode24(root);

if (node === undefined || !existsSync(path.join(root, 'node_modules', 'zod'))) {
  process.stderr.write(`qstamp: Node 24 or its dependencies are missing; run "npm ci" in ${root}\n`);
  process.exitCode = 2;
} else if (isNode24()) {
  // Without a cache, a short command spends half of its time on reading its sources.
  module.enableCompileCache?.(path.join(root, 'node_modules', '.cache', 'qstamp'));
  const importSource = (/** @type {string[]} */ ...names) => import(pathToFileURL(path.join(root, 'src', ...names)).href);
  /** @type {Readonly<Record<string, string>>} */
  const operatorCommands = {
    'check-providers': 'checkProviders',
    'check-settings': 'checkSettings',
    jobs: 'jobs',
    mails: 'mails',
    recount: 'recount',
    'refresh-lists': 'refreshLists',
    renew: 'renew',
    'rotate-master-key': 'rotateMasterKey',
  };
  // "qstamp help COMMAND" and "qstamp --help COMMAND" mean "qstamp COMMAND --help". Other options may come first, too.
  const given = process.argv.slice(2);
  const at = given.findIndex((arg) => !['help', '--help', '-h', '--json', '--quiet'].includes(arg));
  const [command = '', ...after] = at < 0 ? [] : given.slice(at);
  const args = [...given.slice(0, Math.max(at, 0)).map((arg) => (arg === 'help' ? '--help' : arg)), ...after];
  // A reader such as `head` may close the pipe early. Then nobody wants more results, and the command ends as if by SIGPIPE. But what makes stamps
  // first saves those that it has asked for.
  const endOfPipe = 128 + os.constants.signals.SIGPIPE;
  process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') {
      if (command !== 'stamp' && command !== 'workflow') process.exit(endOfPipe);
      process.on('exit', () => {
        process.exitCode = endOfPipe;
      });
      return;
    }
    process.stderr.write(`qstamp: the results cannot be written: ${error.message}\n`);
    process.exit(5);
  });
  // Messages that nobody can read are no reason to stop.
  process.stderr.on('error', () => undefined);
  // "renew FILE" is a command of src/cli, and only that one has a help page that explains both.
  const isOfOperator = Object.hasOwn(operatorCommands, command) && (command !== 'renew' || args.every((arg) => arg === '--quiet'));
  const { env: environment, stdout, stderr } = process;
  const name = isOfOperator ? operatorCommands[command] : undefined;
  if (name) {
    const { [name]: run } = await importSource('operator', `${command}.ts`);
    // Read the same settings as `npm start`.
    const envFile = path.join(root, '.env');
    // `process.loadEnvFile` takes a byte order mark for a part of the first name.
    const settings = existsSync(envFile) ? util.parseEnv(readFileSync(envFile, 'utf8').trim()) : {};
    for (const [name, value] of Object.entries(settings)) environment[name] ??= value;
    process.exitCode = await run({ args, environment, stdout, stderr });
  } else {
    const { qstamp } = await importSource('cli', 'main.ts');
    process.exitCode = await qstamp({ args: given, environment, stdin: process.stdin, stdout, stderr });
  }
} else {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.once('close', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? os.constants.signals[signal] : 0);
  });
}
