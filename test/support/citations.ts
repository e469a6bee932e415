import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** What the project's own documents offer to be cited. */
export interface Library {
  /** Decision numbers (`S7`) of docs/decisions.md, in its order. */
  readonly decisions: readonly string[];
  /** Numbers of the rules of docs/architecture.md. */
  readonly rules: readonly number[];
  /** Numbers of docs/refusals.md. */
  readonly refusals: readonly number[];
  /** Each document by its path from the root, with its headings. */
  readonly documents: ReadonlyMap<string, readonly string[]>;
}

const headingsOf = (markdown: string): string[] => [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.trim());
const numbersOf = (found: Iterable<RegExpMatchArray>): number[] => [...found].map(([, number]) => Number(number));

/** Reads what docs/ and the root of a checkout offer. */
export function readLibrary(root: string): Library {
  const paths = ['*.md', 'docs/**/*.md', 'clients/*/*.md', 'examples/**/*.md']
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .sort();
  const texts = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const textOf = (path: string): string => texts.get(path) ?? '';
  const rules = /^## Rules\n(.*?)(?=^## )/ms.exec(textOf('docs/architecture.md'))?.[1] ?? '';
  return {
    decisions: [...textOf('docs/decisions.md').matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, number = '']) => number),
    rules: numbersOf(rules.matchAll(/^(\d+)\. /gm)),
    refusals: numbersOf(textOf('docs/refusals.md').matchAll(/^\| (\d+) \|/gm)),
    documents: new Map([...texts].map(([path, text]) => [path, headingsOf(text)])),
  };
}

/** The files whose citations must lead somewhere: all that people write, but for answers of other servers that tests replay. */
export function listCitingFiles(root: string): string[] {
  const folders = ['src', 'scripts', 'bench', 'views', 'test', 'docs', 'deploy', 'clients', 'examples'];
  const patterns = [...folders.map((folder) => `${folder}/**/*.{ts,js,mjs,css,eta,md,c,go,py}`), '*.md', 'docker-compose.yml', 'deploy/*'];
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root, withFileTypes: true }));
  const files = paths.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  return [...new Set(files)].filter((path) => !path.startsWith('test/fixtures/')).sort();
}

/** A citation may go over the end of a line; paths of drawings and commands to copy hold none. */
const proseOf = (path: string, source: string): string =>
  (path.endsWith('.md') ? source.replace(/^```.*?^```$/gms, '') : source)
    .replace(/\bd="[^"]*"/g, '')
    .replace(/\s*\n\s*(?:\*(?!\/)|\/\/)?[ \t]*/g, '\n');

const listOf = (number: string): string => String.raw`${number}(?:(?:\s*(?:,|–|-)\s*|\s+(?:and|or|to)\s+)${number})*`;
const issues = /\bissues?[\s#:]+\d+(?:\s*§\s*\d+)?/gi;
const decisions = /\b[ESLNVWRTM][1-9]\d?\b/g;
const rules = new RegExp(String.raw`\brules?\s+(${listOf('\\d+')})`, 'gi');
/** In brackets alone: two digits at most, since an HTTP status has three. */
const refusals = new RegExp(String.raw`\brefusals?\s+(${listOf('\\d+')})|(?<=\s)\((${listOf('\\d{1,2}')})\)`, 'gi');
/** A name right behind a quotation mark is a file that a test makes. */
const documents = /(?<![\w'"/.-])((?:[\w.-]+\/)*[\w-]+\.md)\b(?:#([\w-]+)|,?\s+"([^"]+)"|\s+(§\s*\d+))?/g;

/** Every number of `29, 30 and 46` or `41–44`. */
function numbersIn(list: string): number[] {
  return list.split(/,|\band\b|\bor\b/).flatMap((part) => {
    const [first = 0, last = first] = part.split(/–|-|\bto\b/).map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** Why a document, or a place in it, cannot be looked up. */
function documentFault(library: Library, match: RegExpMatchArray): string | undefined {
  const [, given = '', slug, heading, section] = match;
  const name = given.replace(/^(?:\.\.\/)+/, '');
  const headings = [name, `docs/${basename(name)}`].map((path) => library.documents.get(path)).find((found) => found !== undefined);
  if (!headings || (name.includes('/') && !library.documents.has(name))) return 'there is no such document';
  if (section !== undefined) return 'its sections have names, not numbers';
  const isThere = heading === undefined ? slug === undefined || headings.map(slugOf).includes(slug) : headings.includes(heading);
  return isThere ? undefined : 'it has no such section';
}

/** What a file cites that leads nowhere, one line each: the file, the citation, and why. Public standards are not looked at. */
export function findDeadCitations(path: string, source: string, library: Library): string[] {
  const prose = proseOf(path, source);
  const found: string[] = [];
  const report = (citation: string, why: string) => found.push(`${path} cites ${citation.replace(/\s+/g, ' ')}: ${why}`);

  for (const [citation] of prose.matchAll(issues)) report(citation, 'issues are not part of the project; say why instead');
  for (const [citation] of prose.matchAll(decisions)) {
    if (!library.decisions.includes(citation)) report(citation, 'docs/decisions.md has no such decision');
  }
  for (const match of prose.matchAll(documents)) {
    const fault = documentFault(library, match);
    if (fault !== undefined) report(match[0], fault);
  }
  for (const [citation, list = ''] of prose.matchAll(rules)) {
    if (!numbersIn(list).every((number) => library.rules.includes(number))) report(citation, 'docs/architecture.md has no such rule');
  }
  for (const [citation, named, bare] of prose.matchAll(refusals)) {
    const numbers = numbersIn(named ?? bare ?? '');
    if (!numbers.every((number) => library.refusals.includes(number))) report(citation, 'docs/refusals.md has no such refusal');
  }
  return found;
}
