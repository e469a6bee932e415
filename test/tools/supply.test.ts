import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Bom, type Component, unknownLicences } from '../../scripts/licences.ts';
import { checkoutDir, localDir } from '../../scripts/stack/context.ts';

const read = (path: string) => readFileSync(join(checkoutDir, path), 'utf8');
const lock: { packages: Record<string, { name?: string; version: string; integrity?: string; optional?: boolean }> } = JSON.parse(
  read('package-lock.json'),
);
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

test('every package of the lock is pinned by a SHA-512, and none runs a script when it is installed', () => {
  expect(locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
});

test('every module of the gateway is pinned by a hash', () => {
  const sums = read('scripts/stack/gateway/go.sum');
  const modules = [...read('scripts/stack/gateway/go.mod').matchAll(/^(?:require|\t)\s*(\S+\.\S+\/\S+) (v\S+)/gm)];
  expect(modules.length).toBeGreaterThan(30);
  expect(modules.filter(([, name, version]) => !sums.includes(`${name} ${version} h1:`))).toEqual([]);
});

test('npm run sbom lists every installed package as CycloneDX, and finds no unknown licence', () => {
  const printed = execFileSync(process.execPath, [join(checkoutDir, 'scripts/sbom.ts')], { encoding: 'utf8' });
  expect(printed).toMatch(/^MIT\s+\d+\s+\d+$/m);
  const bom: Bom & { bomFormat: string } = JSON.parse(readFileSync(join(localDir, 'sbom.cdx.json'), 'utf8'));
  expect(bom.bomFormat).toBe('CycloneDX');
  expect(bom.metadata.component.name).toBe('qstamp');
  const told = new Set(bom.components.map(({ name, version }) => `${name}@${version}`));
  const needed = locked
    .filter(([, { optional }]) => !optional)
    .map(([path, { name = path.split('node_modules/').at(-1), version }]) => `${name}@${version}`);
  expect(needed.filter((name) => !told.has(name))).toEqual([]);
});

test.each([
  { licence: 'GPL-3.0-only', isDevelopment: true, isKnown: false },
  { licence: 'MIT OR GPL-3.0-only', isDevelopment: false, isKnown: true },
  { licence: 'MIT AND GPL-3.0-only', isDevelopment: false, isKnown: false },
  { licence: 'MPL-2.0', isDevelopment: true, isKnown: true },
  { licence: 'MPL-2.0', isDevelopment: false, isKnown: false },
  { licence: undefined, isDevelopment: false, isKnown: false },
])('a package under $licence (development: $isDevelopment) is known: $isKnown', ({ licence, isDevelopment, isKnown }) => {
  const component: Component = {
    name: 'planted',
    version: '1.0.0',
    properties: isDevelopment ? [{ name: 'cdx:npm:package:development', value: 'true' }] : [],
    ...(licence && { licenses: [{ expression: licence }] }),
  };
  const bom = { metadata: { component: { name: 'qstamp' } }, components: [component] };
  expect(unknownLicences(bom)).toEqual(isKnown ? [] : [expect.objectContaining({ name: 'planted', licence: licence ?? 'none' })]);
});
