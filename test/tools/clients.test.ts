import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clientFiles } from '../../scripts/clients/files.ts';
import { staleModules } from '../../scripts/clients/python-halves.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { createRequestCheck } from '../support/request-check.ts';

test.each([...clientFiles()])('rule 7: %s is what `npm run clients` makes of the contract', (path, content) => {
  expect(readFileSync(join(checkoutDir, path), 'utf8'), 'run `npm run clients`').toBe(content);
});

test('the synchronous half of the Python client is what unasync makes of the asynchronous one', () => {
  expect(staleModules(), 'run `npm run clients`').toEqual([]);
});

test.each([
  ['a change of the asynchronous half alone', '_async/exchange.py'],
  ['an edit of what is made', '_sync/exchange.py'],
  ['a module that is left over', '_sync/left.py'],
  ['a module that is missing', '_async/new.py'],
])('%s is found', (_what, path) => {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-halves-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(checkoutDir, 'clients/python/src/qstamp'), folder, { recursive: true });
  expect(staleModules(folder)).toEqual([]);
  writeFileSync(join(folder, path), 'pass\n', { flag: 'a' });
  expect(staleModules(folder)).toEqual([path.slice(path.indexOf('/') + 1)]);
});

test('the clients have one version', () => {
  const read = (path: string) => readFileSync(join(checkoutDir, 'clients', path), 'utf8');
  const { version } = JSON.parse(read('typescript/package.json'));
  expect(read('python/pyproject.toml')).toContain(`\nversion = "${version}"\n`);
});

test('a client that says what the document does not know is found', () => {
  const check = createRequestCheck({
    paths: {
      '/stamp/{id}': {
        post: {
          parameters: [{ name: 'Idempotency-Key', in: 'header' }],
          security: [{ Token: [] }],
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Stamp' } } } },
        },
      },
    },
    components: {
      schemas: { Stamp: { type: 'object', properties: { hash: { type: 'string' } } } },
      securitySchemes: { Token: { name: 'X-Token' } },
    },
  });
  const right = {
    method: 'POST',
    path: '/stamp/1',
    headers: { 'content-type': 'application/json', 'x-token': 'a', 'idempotency-key': 'b' },
    body: '{"hash":"a"}',
  };
  expect(check(right)).toBeUndefined();
  expect(check({ ...right, path: '/stamps/1' })).toContain('not in the document');
  expect(check({ ...right, method: 'GET' })).toContain('not in the document');
  expect(check({ ...right, headers: { ...right.headers, 'x-other': '1' } })).toContain('x-other');
  expect(check({ ...right, headers: { 'content-type': 'text/plain' } })).toContain('text/plain');
  expect(check({ ...right, body: '' })).toContain('missing');
  expect(check({ ...right, body: '{"hash":1}' })).toContain('hash');
  expect(check({ ...right, body: '{"hush":"a"}' })).toContain('hush');
});
