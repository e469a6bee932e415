import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Source files and what each imports: another source file by its path from the root of the checkout, a package by its specifier. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const specifiers = /(?:(?<![.\w])from|\bimport\s*\(?)\s*(['"])([^'"\n]+)\1/g;
const importOfExpression = /\bimport\s*\(\s*(?!['"])/;

export const withoutComments = (source: string): string => source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

/** The imports of a module, including type imports and dynamic imports. A string that only looks like an import counts too, to be strict. */
function findImports(path: string, source: string): string[] {
  const code = withoutComments(source);
  if (importOfExpression.test(code)) throw new Error(`${path}: import() of an expression cannot be checked`);
  return [...code.matchAll(specifiers)].map(([, , specifier = '']) =>
    specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
  );
}

/** Every source file below a folder of the checkout. */
export function listSources(root: string, folder: string): string[] {
  return globSync(`${folder}/**/*.{ts,mts,js,mjs}`, { cwd: root }).sort();
}

/** The import graph of a folder. */
export function readImportGraph(root: string, folder = 'src'): ImportGraph {
  return new Map(listSources(root, folder).map((path) => [path, findImports(path, readFileSync(join(root, path), 'utf8'))]));
}
