import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findNode24 } from '../../../scripts/stack/packaged-node.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'qstamp-node-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** A program that says it is this version of Node. */
function plant(path: string, version: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\necho ${version}\n`);
  chmodSync(file, 0o755);
  return file;
}
const plantPackaged = () => plant(`node_modules/node-${process.platform}-${process.arch}/bin/node`, 'v24.21.0');

test.each(['v24.16.0', 'v24.21.0', 'v26.0.0'])("the machine's own Node %s is used, though the dependencies hold one", (version) => {
  plantPackaged();
  expect(findNode24(root, { running: plant('usr/bin/node', version) })).toBe(join(root, 'usr/bin/node'));
});

test.each(['v20.20.2', 'v24.15.9', 'no version'])('in place of an own Node %s, that of the dependencies is used', (version) => {
  const running = plant('usr/bin/node', version);
  expect(findNode24(root, { running })).toBe(undefined);
  expect(findNode24(root, { running, npmNode: running })).toBe(undefined);
  const packaged = plantPackaged();
  expect(findNode24(root, { running })).toBe(packaged);
});

test('under npm, which puts the Node of the dependencies first on PATH, the own one is the one that runs npm', () => {
  const packaged = plantPackaged();
  const link = plant('node_modules/.bin/node', 'v24.21.0');
  for (const running of [packaged, link]) {
    expect(findNode24(root, { running, npmNode: plant('usr/bin/node', 'v24.16.0') })).toBe(join(root, 'usr/bin/node'));
    expect(findNode24(root, { running, npmNode: plant('usr/bin/node', 'v20.20.2') })).toBe(packaged);
    expect(findNode24(root, { running, npmNode: undefined })).toBe(packaged);
  }
});
