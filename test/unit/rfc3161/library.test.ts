import { describe, expect, test } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { findImports, readImportGraph } from '../../support/import-graph.ts';

const library = 'src/shared/rfc3161/';
const rooms = ['refusal', 'asn1', 'x509', 'cms', 'tsp', 'issue', 'ers'];
const roomOf = (path: string) => (path.startsWith(library) ? rooms.indexOf(path.slice(library.length).split('/')[0] ?? '') : -1);

/** What breaks the library's own order: an import of a later room, of another part of the house, or of a package. */
function breaches(path: string, targets: readonly string[]): string[] {
  if (path === `${library}index.ts`) return targets.filter((target) => roomOf(target) < 0);
  if (!path.startsWith(library)) return targets.filter((target) => roomOf(target) >= 0);
  return targets.filter((target) => (roomOf(target) < 0 ? target !== 'node:crypto' : roomOf(target) > roomOf(path)));
}

describe('src/shared/rfc3161 is a library in itself', () => {
  test('each of its rooms imports only those before it, and the house only its index', () => {
    const graph = readImportGraph(checkoutDir);
    expect([...graph.keys()].filter((path) => path.startsWith(library)).length).toBeGreaterThan(20);
    expect([...graph].flatMap(([path, targets]) => breaches(path, targets).map((target) => `${path} imports ${target}`))).toEqual([]);
  });

  test.each([
    ['src/shared/rfc3161/asn1/a.ts', "import { a } from '../x509/b.ts';"],
    ['src/shared/rfc3161/tsp/a.ts', "import { a } from '../../domain/b.ts';"],
    ['src/shared/rfc3161/tsp/a.ts', "import { a } from 'node:buffer';"],
    ['src/shared/rfc3161/tsp/a.ts', "import { a } from '../index.ts';"],
    ['src/shared/trust/a.ts', "import { a } from '../rfc3161/tsp/verify.ts';"],
  ])('%s may not %s', (path, source) => {
    expect(breaches(path, findImports(path, source))).toHaveLength(1);
  });
});
