import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { findDeadCitations, listCitingFiles, readLibrary } from '../support/citations.ts';

const library = readLibrary(checkoutDir);
/** This file cites what is not there, to see it found. */
const files = listCitingFiles(checkoutDir).filter((path) => path !== 'test/unit/citations.test.ts');
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

describe('what can be cited', () => {
  test('every decision stands in docs/decisions.md once, in order', () => {
    const groups = { E: 13, S: 17, L: 4, N: 6, V: 12, W: 23, R: 6, T: 7, M: 14 };
    const wanted = Object.entries(groups).flatMap(([letter, last]) => upTo(last).map((number) => `${letter}${number}`));
    expect(library.decisions.toSorted()).toEqual(wanted.sort());
  });

  test('rules and refusals are numbered without a gap', () => {
    expect(library.rules).toEqual(upTo(9));
    expect(library.refusals).toEqual(upTo(59));
  });
});

describe('what is cited', () => {
  test('can be read in docs, wherever the project cites it (rule 9)', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(files.flatMap((path) => findDeadCitations(path, readFileSync(join(checkoutDir, path), 'utf8'), library))).toEqual([]);
  });
});

describe('the check of citations', () => {
  /** Made-up sources, each with one citation that leads nowhere. */
  const dead: readonly (readonly [source: string, cited: string])[] = [
    ['// As decided (S99).', 'S99'],
    ['// As decided (S5, E14).', 'E14'],
    ["test('is refused (W1–W90)', () => {});", 'W90'],
    ['/** In the turn that brings it (queue.md §1). */', 'queue.md §1'],
    ['/** `timeoutMS` has no effect (local-tack.md). */', 'local-tack.md'],
    ['// A TSA that could not be asked (evidence.md 5).', 'evidence.md'],
    ['/** The defaults of `defaults.md`. */', 'defaults.md'],
    ['/** interface.md, "Endpoints". */', 'interface.md, "Endpoints"'],
    ['// See docs/architecture.md "No such heading".', 'docs/architecture.md "No such heading"'],
    ['// See docs/architecture.md#no-such-heading', 'docs/architecture.md#no-such-heading'],
    ['// See docs/architecture.md §4', 'docs/architecture.md §4'],
    ['// See design/architecture.md', 'design/architecture.md'],
    ['/** No content in a log (architecture rule 10). */', 'rule 10'],
    ["report('rules 1 to 12');", 'rules 1 to 12'],
    ['/** Refusal 60. */', 'Refusal 60'],
    ['/** Who may certify whom (refusals 40–63). */', 'refusals 40–63'],
    ['/** Refusals 29, 30 and 64: the key. */', 'Refusals 29, 30 and 64'],
    ["describe('weak links (61)', () => {});", '(61)'],
    ['/**\n * Who may certify whom (refusals\n * 60 and 61).\n */', 'refusals 60 and 61'],
    ["test('within ten seconds (issue 7 §2)', () => {});", 'issue 7 §2'],
    ["describe('npm start (issue 4, item 1)', () => {});", 'issue 4'],
    ['// 503 within a second (issue: 503)', 'issue: 503'],
    ['<%# as issue #12 wants %>', 'issue #12'],
  ];
  test.each(dead)('finds the dead one in %j', (source, cited) => {
    const [line, ...others] = findDeadCitations('src/api/a.ts', source, library);
    expect(others).toEqual([]);
    expect(line).toContain(`src/api/a.ts cites ${cited}: `);
  });

  const alive = [
    '// As decided (S5, W9, E1–E12; V3).',
    '// RFC 3161 §2.4.2, RFC 5280 §6.1.4, X.690 §11.6, ETSI EN 319 422, FIPS 180-4 §5.3.3',
    '/** docs/architecture.md "How a request waits for its job" (rules 1 to 4, architecture rule 6) */',
    '/** [the store](architecture.md#how-the-store-is-used), `docs/reasons.md`, README.md */',
    '/** Refusals 1–4 and 6–14, (34, 35), (48): the answer. */',
    "const files = { 'briefing.md': 'a logo' };",
    'retryDelayMs(60, random(99));',
    'for (const issue of issues) report(issue.path[0]);',
    '<path d="M12 2 S99 7"/>',
  ];
  test.each(alive)('is content with %j', (source) => {
    expect(findDeadCitations('src/api/a.ts', source, library)).toEqual([]);
  });

  test('leaves commands to copy alone', () => {
    expect(findDeadCitations('docs/a.md', '```sh\nqstamp --briefing brief.md\n```\n', library)).toEqual([]);
  });
});
