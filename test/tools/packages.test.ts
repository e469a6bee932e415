import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packCommand } from '../../scripts/packages/npm.ts';
import { serverJson } from '../../scripts/packages/release.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runCommand, runToEnd } from '../../scripts/stack/run.ts';
import { startBundleLab } from '../support/bundle-lab.ts';
import { offline } from '../support/client-package.ts';
import { inherited } from '../support/environment.ts';
import { newListSigner } from '../support/list-server.ts';
import { makeTrustedList } from '../support/trusted-lists.ts';

/** The package `qstamp`. The package of the TypeScript client is the one that all tests of the client use. */

const place = mkdtempSync(join(tmpdir(), 'qstamp-packages-'));
const app = join(place, 'app');
const installed = join(app, 'node_modules/qstamp');
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const ends: (() => void | Promise<void>)[] = [() => rmSync(place, { recursive: true })];

beforeAll(async () => {
  const archive = await packCommand(place);
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true }');
  // Without a registry, all packages that it needs come from this checkout.
  const { dependencies } = readJson(join(checkoutDir, 'packages/qstamp/package.json'));
  const needed = [...Object.keys(dependencies), '@modelcontextprotocol/core'].map((name) => join(checkoutDir, 'node_modules', name));
  await runCommand('npm', ['install', ...offline, '--no-save', archive, ...needed], { cwd: app });
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

/** Runs the installed command as its users do. */
const npx = (...args: string[]) => {
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  return runToEnd('npx', ['--offline', 'qstamp', ...args], { cwd: app, env: { ...inherited, PATH, XDG_CONFIG_HOME: place } });
};

test('the installed command judges files and bundles, and reads trusted lists', async () => {
  const lab = await startBundleLab((end) => void ends.push(end));
  const { zip } = await lab.completed(['a', 'b'], 'do it');
  const signer = newListSigner('Sweden');
  const files = {
    a: 'a',
    'bundle.zip': zip,
    'root.pem': lab.tsa.pki.rootPem,
    'se.xml': makeTrustedList({ territory: 'SE', signed: signer }),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(app, name), content);

  const verified = await npx('verify', '--ca', 'root.pem', 'bundle.zip', 'a');
  expect(verified).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('a: valid') });
  // It knows the script of the bundle, so that file is in the package.
  expect(verified.stdout).not.toContain('verify.py');
  writeFileSync(join(app, 'a'), 'another');
  expect(await npx('verify', '--ca', 'root.pem', 'bundle.zip', 'a')).toMatchObject({ code: 1 });

  expect(await npx('lists', 'se.xml')).toMatchObject({ code: 0, stdout: expect.stringContaining('trusted list of SE') });
  expect((await npx('--version')).stdout).toBe(`${readJson(join(checkoutDir, 'package.json')).version}\n`);
});

test('the installed command serves an assistant', async () => {
  const client = new Client({ name: 'qstamp-test', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [join(installed, 'bin/qstamp.js'), 'mcp', '--allow', app] }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('stamp_files');
  await client.close();
});

test('it depends on exactly the packages that it loads, in the versions of this checkout', () => {
  const code = globSync('**/*.js', { cwd: installed }).map((path) => readFileSync(join(installed, path), 'utf8'));
  expect(code.length).toBeGreaterThan(100);
  const specifiers = code.flatMap((text) => [...text.matchAll(/(?:^import|\bfrom|\bimport\() ?'([^'.][^']*)'/gm)].map(([, name]) => name!));
  const packages = specifiers.filter((name) => !name.startsWith('node:')).map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)![0]);
  expect(packages.filter((name) => builtinModules.includes(name))).toEqual([]);
  const { dependencies } = readJson(join(installed, 'package.json'));
  expect(dependencies).toEqual(
    Object.fromEntries([...new Set(packages)].map((name) => [name, readJson(join(checkoutDir, 'package.json')).dependencies[name]])),
  );
});

test('registries find in it what they show and check', () => {
  const manifest = readJson(join(installed, 'package.json'));
  const { version } = readJson(join(checkoutDir, 'package.json'));
  expect(manifest).toMatchObject({ name: 'qstamp', version, license: 'MIT', publishConfig: { provenance: true } });
  for (const address of [manifest.homepage, manifest.bugs]) expect(address).toMatch(/^https:/);
  // The MCP registry compares both names.
  expect(serverJson()).toMatchObject({ name: manifest.mcpName, version, packages: [{ identifier: 'qstamp', version }] });
  expect(readdirSync(installed)).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'LICENSE']));
  for (const name of ['README.md', 'CHANGELOG.md']) {
    const links = [...readFileSync(join(installed, name), 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !/^(https:|#)/.test(link!))).toEqual([]);
  }
});
