#!/usr/bin/env node
/** Runs the command of src/cli with a Node that takes TypeScript as it is: this one, or else the one among the dependencies. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findNode24, isNode24 } from '../scripts/stack/packaged-node.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

const node = isNode24() ? process.execPath : findNode24(root);

if (node === undefined || !existsSync(path.join(root, 'node_modules', 'zod'))) {
  process.stderr.write(`qstamp: Node 24 or its dependencies are missing; run "npm ci" in ${root}\n`);
  process.exitCode = 2;
} else if (isNode24()) {
  // Half of a short command's time is reading its sources.
  module.enableCompileCache?.(path.join(root, 'node_modules', '.cache', 'qstamp'));
  await import(pathToFileURL(path.join(root, 'src', 'cli', 'main.ts')).href);
} else {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.once('close', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? os.constants.signals[signal] : 0);
  });
}
