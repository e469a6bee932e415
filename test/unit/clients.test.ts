import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { clientFiles } from '../../scripts/clients/files.ts';
import { staleModules } from '../../scripts/clients/python-halves.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';

test.each([...clientFiles()])('rule 7: %s is what `npm run clients` makes of the contract', (path, content) => {
  expect(readFileSync(join(checkoutDir, path), 'utf8'), 'run `npm run clients`').toBe(content);
});

test('the synchronous half of the Python client is what unasync makes of the asynchronous one', () => {
  expect(staleModules(), 'run `npm run clients`').toEqual([]);
});

test('the clients have one version', () => {
  const read = (path: string) => readFileSync(join(checkoutDir, 'clients', path), 'utf8');
  const { version } = JSON.parse(read('typescript/package.json'));
  expect(read('python/pyproject.toml')).toContain(`\nversion = "${version}"\n`);
});
