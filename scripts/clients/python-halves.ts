/**
 * The Python client has two halves. `_async`, for tasks, is written by hand. The program unasync makes `_sync`, for threads, from it: it removes
 * `async` and `await` and replaces names. The first line of each generated file has a checksum of its input and output, so that a test can find an
 * outdated or edited file without Python or PyPI.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { cached, recipeKey } from '../stack/cache.ts';
import { checkoutDir, type StackContext } from '../stack/context.ts';
import { CommandError, findProgram, runCommand } from '../stack/run.ts';

const packages = ['unasync==0.6.0', 'tokenize-rt==6.2.0'];

/** Names in `_async`, and the names that replace them in `_sync`. unasync itself knows `__aenter__`, `AsyncIterator` and similar names. */
const names = {
  AsyncQstamp: 'Qstamp',
  AsyncStamping: 'Stamping',
  AsyncWorkflow: 'Workflow',
  AsyncOutputStamping: 'OutputStamping',
  AsyncExchange: 'Exchange',
  AsyncCaller: 'Caller',
  // From httpx.
  AsyncClient: 'Client',
  aclose: 'close',
  aread: 'read',
  aiter_bytes: 'iter_bytes',
  // From waiting.py.
  AsyncLock: 'Lock',
  async_sleep: 'sleep',
  async_work: 'work',
};

const program = `import json, sys, unasync
rule = unasync.Rule("/_async/", "/_sync/", additional_replacements=json.loads(sys.argv[1]))
unasync.unasync_files(sys.argv[2:], [rule])`;

const packageDir = join(checkoutDir, 'clients/python/src/qstamp');
const modulesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.py'))
        .sort()
    : [];

/** The first line of a module of `_sync`. */
export function headerOf(name: string, source: string, made: string): string {
  const check = createHash('sha256')
    .update(JSON.stringify([packages, names, source, made]))
    .digest('hex');
  return `# Made by \`npm run clients\` of _async/${name}. Do not edit it. Check: ${check.slice(0, 32)}\n`;
}

/** The names of modules in `_sync` that are not the output of unasync for the current `_async`: outdated, edited, missing, or without a source. */
export function staleModules(folder = packageDir): string[] {
  const [sources, made] = [join(folder, '_async'), join(folder, '_sync')];
  return [...new Set([...modulesIn(sources), ...modulesIn(made)])].filter((name) => {
    if (![sources, made].every((half) => existsSync(join(half, name)))) return true;
    const [source, whole] = [join(sources, name), join(made, name)].map((path) => readFileSync(path, 'utf8')) as [string, string];
    const start = whole.indexOf('\n') + 1;
    return whole.slice(0, start) !== headerOf(name, source, whole.slice(start));
  });
}

/** Generates `_sync`. It needs python3, and for the first time also PyPI. @throws CommandError */
export async function writeSyncHalf(context: StackContext): Promise<void> {
  const python = findProgram('python3');
  if (python === undefined) throw new CommandError('there is no python3 on PATH', '');
  const tools = await cached(context, 'unasync', recipeKey(...packages), async (folder) => {
    await runCommand(python, ['-m', 'venv', folder], context);
    await runCommand(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages], context);
  });
  cpSync(join(packageDir, '_async'), join(context.dataDir, '_async'), { recursive: true });
  const modules = modulesIn(join(packageDir, '_async'));
  const paths = modules.map((name) => join(context.dataDir, '_async', name));
  await runCommand(join(tools, 'bin/python'), ['-c', program, JSON.stringify(names), ...paths], context);
  rmSync(join(packageDir, '_sync'), { recursive: true, force: true });
  cpSync(join(context.dataDir, '_sync'), join(packageDir, '_sync'), { recursive: true });
  for (const name of modules) {
    const path = join(packageDir, '_sync', name);
    const made = readFileSync(path, 'utf8');
    writeFileSync(path, headerOf(name, readFileSync(join(packageDir, '_async', name), 'utf8'), made) + made);
  }
}
