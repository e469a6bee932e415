import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { partNotes } from '../../../src/api/status/status.ts';
import {
  developmentSentence,
  type ListedService,
  laterStatusWords,
  notQualifiedSentence,
  type Qualification,
  qualificationReasons,
  qualifiedWords,
} from '../../../src/shared/domain/qualification.ts';
import { REASONS } from '../../../src/shared/domain/reasons.ts';
import { notCheckedPhrases } from '../../../src/shared/domain/token.ts';
import { adviceWords, fileWords, otherVerdict } from '../../../src/shared/proof/verdict-words.js';
import { REVOCATION_UNKNOWN, UNCHECKED, type Unchecked, type Verified } from '../../../src/shared/rfc3161/index.ts';
import { LIST_FAULTS } from '../../../src/shared/trust/lists/index.ts';
import { wordsOf } from '../../../src/shared/views/format.ts';
import { createPageServer, samplePaths } from '../../support/page-server.ts';
import { mainText } from '../../support/page-text.ts';

const app = await createPageServer();
const get = (path: string, language: string) => app.inject({ url: path, headers: { 'accept-language': language } });

const catalogueOf = (language: string): Record<string, string> =>
  JSON.parse(readFileSync(join(checkoutDir, `views/words/${language}.json`), 'utf8'));
const [german, french] = [catalogueOf('de'), catalogueOf('fr')];

/** Every sentence that a template, a script or a model says with `t` and its relatives. */
function saidSentences(): string[] {
  const sources = ['views', 'src'].flatMap((folder) =>
    readdirSync(join(checkoutDir, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(checkoutDir, folder, path)),
  );
  const literal = String.raw`'((?:[^'\\\n]|\\.)*)'`;
  const one = new RegExp(String.raw`\b(?:t|tHtml|worded)\(\s*${literal}`, 'g');
  const two = new RegExp(String.raw`\b(?:tCount|chosen)\(\s*[\w.]+,\s*${literal},\s*${literal}`, 'g');
  const texts = sources.filter((path) => /\.(eta|ts|js)$/.test(path)).map((path) => readFileSync(path, 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(one), ...text.matchAll(two)].flatMap(([, ...sentences]) => sentences));
}

const listed: ListedService = {
  ...{ territory: 'LU', listNumber: 61, listSha256: '', type: 'TSA/QTST', providerName: 'Acme', serviceName: 'Stamps', status: 'granted' },
  ...{
    since: '2019-03-01T00:00:00Z',
    atProofOfExistence: { time: '2026-12-24T08:00:00Z', status: 'granted', since: '2019-03-01T00:00:00Z' },
  },
};
const withdrawnLater = { ...listed.atProofOfExistence!, status: 'withdrawn' };
const ofList = qualificationReasons.filter((reason) => /^(service_(?!not_listed)|before|list|later)/.test(reason));
const qualifications: Omit<Qualification, 'isClaimedByToken'>[] = [
  { status: 'qualified', basis: 'list', reason: null, listed },
  ...(['list', 'operator'] as const).map((basis) => ({ status: 'qualified', basis, reason: null, listed: null }) as const),
  ...qualificationReasons.map((reason) => ({ status: 'not_qualified', basis: null, reason, listed: null }) as const),
  ...ofList.map((reason) => ({ status: 'not_qualified', basis: 'list', reason, listed }) as const),
];

const notChecked = notCheckedPhrases({
  revocation: [{ status: 'unknown', certificate: { subject: '' }, why: 'no_list' }],
  certificatesEndedAt: new Date(0),
  unchecked: Object.keys(UNCHECKED) as Unchecked[],
} as unknown as Verified).map(({ text }) => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, '.'));

/** Sentences that programs get too, and pages translate. */
const sharedSentences = [
  ...[developmentSentence, notQualifiedSentence(null), notQualifiedSentence('no_trusted_list')],
  ...['Store', 'Queue', 'Workers', 'Clock', ...Object.values(partNotes), ...Object.values(LIST_FAULTS)],
  ...[...Object.values(fileWords), ...Object.values(adviceWords), ...Object.values(REVOCATION_UNKNOWN), ...notChecked],
  ...Object.values(REASONS).flatMap(({ advice }) => advice ?? []),
  ...qualifications.flatMap((said) => [qualifiedWords(said)]).flatMap(({ text, list }) => [text, ...(list ? [list.text] : [])]),
  ...[listed, { ...listed, atProofOfExistence: withdrawnLater }].map((service) => laterStatusWords(service)!.text),
  ...(['file', 'files', 'hash'] as const).flatMap((what) =>
    [true, false].flatMap((mayBeOfBatch) => Object.values(otherVerdict(what, { isTest: false, mayBeOfBatch }))),
  ),
];

describe('the catalogues', () => {
  const said = [...new Set([...saidSentences(), ...sharedSentences])].sort();

  it.each([
    ['German', german],
    ['French', french],
  ])('%s has every sentence, and none that nobody says', (_, catalogue) => {
    expect(Object.keys(catalogue).sort()).toEqual(said);
  });

  it.each([
    ['German', german],
    ['French', french],
  ])('%s keeps the values, the code and the marks of each sentence', (_, catalogue) => {
    const marksOf = (text: string) => (text.match(/\{\w+\}|`[^`]*`|\*\*/g) ?? []).sort();
    for (const [english, translated] of Object.entries(catalogue)) expect(marksOf(translated), english).toEqual(marksOf(english));
  });
});

describe('V14: the language of a page', () => {
  it.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fr', 'fr'],
    ['en;q=0.5, fr-CH', 'fr'],
    ['es, de;q=0', 'en'],
    ['es,DE;q=0.1', 'de'],
    ['', 'en'],
    ['*', 'en'],
    [';;q=x,,-', 'en'],
  ])('for Accept-Language: %s is %s', async (accepted, language) => {
    const { headers, body } = await get('/verify', accepted);
    expect([headers['content-language'], headers.vary]).toEqual([language, expect.stringContaining('Accept-Language')]);
    expect(body).toContain(`<html lang="${language}">`);
  });

  /** Names, codes and the reasons that programs get stay as they are. */
  const untranslated =
    /<(code|dd|p|span|strong)\b[^>]* (?:lang="en"|class="(?:given|subject)")[^>]*>.*?<\/\1>|<bdi>.*?<\/bdi>|<code\b.*?<\/code>/gs;
  const linesOf = (body: string) =>
    mainText(body.replace(untranslated, ''))
      .split('\n')
      .filter((line) => (line.match(/\p{L}{2,}/gu) ?? []).length >= 3);

  it.each(['de', 'fr'])('leaves no sentence in English: %s', async (language) => {
    for (const path of samplePaths) {
      const english = new Set(linesOf((await get(path, 'en')).body));
      expect(
        linesOf((await get(path, language)).body).filter((line) => english.has(line)),
        path,
      ).toEqual([]);
    }
  });
});

test('numbers, times and durations have the form of the language', () => {
  const shown = (['en', 'de', 'fr'] as const).map((language) => {
    const { count, timeText, duration, dayText } = wordsOf(language);
    return [count(12_345), timeText('2026-11-21T11:46:07Z'), duration(90_061), dayText('2026-02-03')].map((text) =>
      text.replace(/\s/g, ' '),
    );
  });
  expect(shown).toEqual([
    ['12,345', '21 November 2026, 11:46:07 UTC', '1 day 1 hour', '3 February'],
    ['12.345', '21. November 2026, 11:46:07 UTC', '1 Tag 1 Stunde', '3. Februar'],
    ['12 345', '21 novembre 2026, 11:46:07 UTC', '1 jour 1 heure', '3 février'],
  ]);
});
