import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';

/** A word that people read, for a thing that has another name (docs/architecture.md, Names). */
interface Twin {
  readonly found: RegExp;
  readonly name: string;
}

const twins: readonly Twin[] = [
  { found: /\btimestamp(s|ed|ing)?\b/i, name: 'time-stamp' },
  {
    found: /(?<!\bqualified electronic )(?<!\bqualified )\btime stamps?\b/i,
    name: 'time-stamp; eIDAS alone writes “qualified electronic time stamp”',
  },
  { found: /\btoken ids?\b/i, name: 'stamp id' },
  { found: /\b(tokens?) of (a|the|your|one of your) (product|workflow)s?\b/i, name: 'service token, workflow token' },
  { found: /(?<!\btrust |\/)\banchors?\b/i, name: 'trust anchor' },
  { found: /\b(trusted roots?|roots? CAs?|CA roots?|root authorit(y|ies))\b/i, name: 'trust anchor, or root certificate' },
  { found: /\bstandings?\b/i, name: 'state' },
  { found: /\bpending\b/i, name: 'waiting, not finished, not opened; pending is a value of the interface, and code' },
  { found: /\b(checksums?|hash sums?|message digests?)\b/i, name: 'hash, digest or imprint' },
  // `TSP=local` is a setting.
  { found: /\bTSPs?\b(?!=)/, name: 'provider, or TSA' },
  { found: /\bfinali[sz](e|ed|es|ing|ation)\b/i, name: 'complete' },
  // COSE has receipts of its own (RFC 9942).
  { found: /\b(attestations?|(?<!COSE )receipts?)\b/i, name: 'proof, or time-stamp token' },
  { found: /\bcapabilit(y|ies)\b/i, name: 'secret address' },
  { found: /\b(address|agent|metadata)\b.* (was|were|is|are) removed\b|\bremoved on request\b/i, name: 'erased' },
  { found: /\b(verification|confirmation) (e-?)?(mail|link)s?\b/i, name: 'the mail with the link, the link in the mail' },
  { found: /\b(qualification|service|trust) (level|grade)s?\b/i, name: 'tier, or qualified' },
];

const decoded = (text: string): string => text.replaceAll(/\\(["'`])/g, '$1');

/** Texts in quotes that hold a blank, as sentences do; what stands in backticks within them is code. */
const sentencesIn = (source: string): string[] =>
  [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, single, double, back]) => decoded(single ?? double ?? back ?? ''))
    .filter((text) => text.includes(' '))
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll(/`[^`]*`/g, '…'));

const withoutComments = (source: string): string => source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');

/** What people read of a file: the prose of a document, the text of a page, the sentences of a source. */
export function wordsOf(path: string, content: string): string[] {
  if (path.endsWith('.md')) {
    const prose = content.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '…');
    return prose.replaceAll(/\]\([^)]*\)/g, ']').split('\n');
  }
  if (path.endsWith('.eta')) {
    const code = [...content.matchAll(/<%([\s\S]*?)%>/g)].map(([, within = '']) => within);
    const text = content.replaceAll(/<%[\s\S]*?%>/g, '…').replaceAll(/<code>[\s\S]*?<\/code>/g, '…');
    return [...text.replaceAll(/<[^>]*>/g, '\n').split('\n'), ...code.flatMap((each) => sentencesIn(withoutComments(each)))];
  }
  return sentencesIn(withoutComments(content));
}

/** Each twin in what people read of a file: `path: "words": the name`. */
export const twinsIn = (path: string, content: string): string[] =>
  wordsOf(path, content).flatMap((words) =>
    twins.flatMap(({ found, name }) => (found.test(words) ? [`${path}: "${words.trim()}" has a twin of: ${name}`] : [])),
  );

const readByPeople = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/*.md',
  'clients/*/README.md',
  'clients/*/src/**/*.ts',
  'examples/**/*.{md,ts,mjs}',
  'views/**/*.eta',
  'views/assets/*.js',
  'src/cli/**/*.ts',
  'src/api/{http,mcp,openapi,pages,routes,services}/**/*.ts',
  'src/shared/{contract,domain,rfc3161/refusal,trust,views}/**/*.ts',
  'src/workers/{mail,providers}/**/*.ts',
];

/** Every twin that the project's pages, mails, documents, command and messages hold. */
export async function findTwins(root: string): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob(readByPeople, { cwd: root })) found.push(...twinsIn(path, readFileSync(`${root}/${path}`, 'utf8')));
  return found;
}
