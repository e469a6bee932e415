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
  const { runAsProcess } = await importSource('cli', 'process.ts');
  const { operatorCommands } = await importSource('operator', 'index.ts');
  const { argv, env, stdout, stderr } = process;
  // The commands for operators read the same settings as `npm start`.
  const environment = () => {
    const envFile = path.join(root, '.env');
    // `process.loadEnvFile` takes a byte order mark for a part of the first name.
    return existsSync(envFile) ? { ...util.parseEnv(readFileSync(envFile, 'utf8').trim()), ...env } : env;
  };
  await runAsProcess(process, operatorCommands({ args: argv.slice(2), environment, stdout, stderr }));
} else {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.once('close', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? os.constants.signals[signal] : 0);
  });
}
