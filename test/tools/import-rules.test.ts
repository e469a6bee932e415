import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { listSources, readImportGraph } from '../support/import-graph.ts';
import { checkImports, checkSource } from '../support/import-rules.ts';
import { patience } from '../support/pace.ts';

const sources = listSources(checkoutDir, 'src');
const read = (path: string) => readFileSync(join(checkoutDir, path), 'utf8');

/** Imports modules in a separate process that may neither connect nor listen, and must end by itself. */
function importAll(modules: readonly string[]): { status: number | null; stderr: string } {
  const program = `
    import net from 'node:net';
    const refuse = (what) => () => { throw new Error('a module ' + what + ' when it is imported'); };
    net.Socket.prototype.connect = refuse('connects');
    net.Server.prototype.listen = refuse('listens');
    for (const module of ${JSON.stringify(modules)}) await import(module);
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: patience(25_000),
  });
  return { status, stderr };
}

describe('the sources keep the rules of the architecture', () => {
  test('rules 1 to 4: rooms, purity, one home for each package, no cycles', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(checkImports(readImportGraph(checkoutDir))).toEqual([]);
  });

  test('rules 3, 7 and 8: the environment, HTTP requests, fields of the interface, secrets of TSAs', () => {
    expect(sources.flatMap((path) => checkSource(path, read(path)))).toEqual([]);
  });

  test('rule 5: importing opens no connection, listens nowhere and leaves nothing running', () => {
    const entries = /^src\/[a-z]+\/main\.ts$/;
    const modules = sources.filter((path) => !entries.test(path)).map((path) => join(checkoutDir, path));
    expect(importAll(modules)).toEqual({ status: 0, stderr: '' });
  });
});

describe('the check of the rules', () => {
  /** An import that breaks each kind of rule, and the message. */
  const planted: readonly (readonly [from: string, target: string, rule: string])[] = [
    ['src/a.ts', 'src/shared/domain/a.ts', 'rule 1, every source file'],
    ['src/shared/store/a.ts', 'src/api/stamps/a.ts', 'rule 1, shared/store may import only'],
    ['src/shared/rfc3161/asn1/a.ts', 'src/shared/rfc3161/tsp/a.ts', 'rule 1, shared/rfc3161/asn1'],
    ['src/workers/providers/a.ts', 'src/shared/rfc3161/tsp/a.ts', 'rule 1, workers/providers'],
    ['src/shared/domain/a.ts', 'zod', 'rule 2'],
    ['src/workers/main.ts', 'fastify', 'rule 3'],
    ['src/api/mcp/tools/a.ts', 'src/shared/store/a.ts', 'rule 1, api/mcp'],
    ['src/api/stamps/a.ts', 'src/api/verification/index.ts', 'rule 1, api/stamps'],
    ['src/workers/stamping/a.ts', 'src/workers/providers/pool.ts', 'rule 1, workers/stamping'],
    ['src/cli/a.ts', 'src/shared/store/a.ts', 'rule 1, cli'],
  ];
  test.each(planted)('finds that %s must not import %s', (from, target, rule) => {
    const graph = new Map(Object.entries({ [from]: [target], [target]: [] }));
    expect(checkImports(graph)).toContainEqual(expect.stringContaining(rule));
  });

  test('finds a file that handles a request and reads the store', () => {
    const graph = new Map([
      ['src/api/stamps/a.ts', ['fastify', 'src/shared/store/a.ts']],
      ['src/shared/store/a.ts', []],
    ]);
    expect(checkImports(graph)).toEqual([expect.stringContaining('rule 4, what sees a request')]);
  });

  test.each([
    ['rule 3', 'const a = process.env.HOME;'],
    ['rule 7', 'const body = z.object({ hash: z.string() });'],
    ['rule 8', 'readFileSync(settings.auth.passwordFile)'],
  ])('finds a violation of %s in a source: %s', (rule, source) => {
    expect(checkSource('src/api/stamps/a.ts', source)).toEqual([expect.stringContaining(rule)]);
  });
});
