import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { type Checkout, createCheckout, type RunningCommand } from '../support/checkout.ts';

let checkout: Checkout;

beforeEach(() => {
  checkout = createCheckout({ installed: false });
  writeFileSync(
    join(checkout.dir, 'scripts', 'told.ts'),
    `process.on('SIGTERM', () => process.exit(99));
     const node: string = process.version;
     console.log(JSON.stringify({ node, args: process.argv.slice(2) }));
     if (process.argv[2] === 'wait') setInterval(() => undefined, 1000);
     else process.exitCode = Number(process.argv[2] ?? 0);
     process.channel?.unref();`,
  );
});
afterEach(() => checkout.dispose());

/** A fake npm, first on PATH; `$INSTALL` does the work of npm. */
function fakeNpm(script: string): NodeJS.ProcessEnv {
  const bin = join(checkout.dir, 'fake-bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> "${checkout.dir}/npm-calls"\n${script}\n`);
  chmodSync(join(bin, 'npm'), 0o755);
  return { PATH: `${bin}:${process.env.PATH}` };
}
const install = `mkdir node_modules && ln -s "${checkoutDir}/node_modules/node-${process.platform}-${process.arch}" node_modules/ && cp "${checkoutDir}/node_modules/.package-lock.json" node_modules/`;
const bootstrap = (args: readonly string[], env: NodeJS.ProcessEnv) =>
  checkout.run(process.execPath, ['scripts/bootstrap.mjs', 'scripts/told.ts', ...args], env);
/** The report of the script. */
const told = (command: RunningCommand) => JSON.parse(/^\{.*\}$/m.exec(command.output())?.[0] ?? '{}');
const calls = (output: string) => output.split('\n').filter(Boolean).length;

test('missing dependencies are installed once, and the script runs with Node 24, its arguments and its exit code', async () => {
  const env = fakeNpm(install);
  const first = bootstrap(['7', 'more'], env);
  expect(await first.exitCode).toBe(7);
  expect(told(first)).toEqual({ node: expect.stringMatching(/^v24\./), args: ['7', 'more'] });
  expect(await bootstrap([], env).exitCode).toBe(0);
  const log = readFileSync(join(checkout.dir, 'npm-calls'), 'utf8');
  expect(calls(log)).toBe(1);
  expect(log).toBe('ci\n');
});

test('dependencies that differ from the lock are reinstalled', async () => {
  const env = fakeNpm(`rm -rf node_modules && ${install}`);
  mkdirSync(join(checkout.dir, 'node_modules'));
  const lock = JSON.stringify({ packages: { 'node_modules/left-over': { version: '1.0.0' } } });
  writeFileSync(join(checkout.dir, 'node_modules', '.package-lock.json'), lock);
  const command = bootstrap([], env);
  expect(await command.exitCode).toBe(0);
  expect(told(command)).toMatchObject({ node: expect.stringMatching(/^v24\./) });
});

test('a failed install gives the reason and the remedy, without a stack', async () => {
  const command = bootstrap([], fakeNpm('echo "npm error network is down" >&2; exit 3'));
  expect(await command.exitCode).toBe(1);
  expect(command.output()).toContain('network is down');
  expect(command.output()).toMatch(/\nnpm ci failed: check the network .*\n$/);
});

test.each([
  ['darwin', /this is Node v\S+, and qstamp brings its own only for Linux .*: install Node 24.16 or newer/],
  ['win32', /does not run on Windows itself: run this command in WSL/],
])('on %s with Node 20, the first sentence says what to do, before anything is installed', async (platform, sentence) => {
  const disguise = `Object.defineProperties(process, { platform: { value: '${platform}' }, versions: { value: { node: '20.19.0' } } })`;
  const preload = `--import=data:text/javascript,${encodeURIComponent(disguise)}`;
  const command = checkout.run(process.execPath, [preload, 'scripts/bootstrap.mjs', 'scripts/told.ts'], fakeNpm(install));
  expect(await command.exitCode).toBe(1);
  expect(command.output()).toMatch(sentence);
  expect(existsSync(join(checkout.dir, 'npm-calls'))).toBe(false);
});

test('Ctrl-C during the install ends the install too', async () => {
  const command = bootstrap([], fakeNpm('exec sleep 1000'));
  await expect.poll(() => checkout.processes().some((line) => line.includes('sleep 1000'))).toBe(true);
  command.interrupt();
  expect(await command.exitCode).toBe(130);
  await expect.poll(() => checkout.processes()).toEqual([]);
});

test('signals are passed to the script, and its exit code is used', async () => {
  const command = bootstrap(['wait'], fakeNpm(install));
  await command.until(/"node"/);
  process.kill(command.pid, 'SIGTERM');
  expect(await command.exitCode).toBe(99);
});
