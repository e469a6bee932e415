import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { viewsFolder } from '../../src/shared/views/engine.ts';
import { axeFindings } from '../support/axe.ts';
import { isLong } from '../support/depth.ts';
import { contentOf } from '../support/page-samples.ts';
import { samplePaths } from '../support/page-server.ts';
import { mainText } from '../support/page-text.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const phone = { viewport: { width: 390, height: 844 } };
/** Each template, in all its colour variants; in long runs also the other samples that differ in more than words. */
const looks = [
  ...['mixed', 'named', 'broken', 'claimed'].map((name) => `/workflow/${name}`),
  ...['/verify/qualified', '/verify/differing', '/verify/claimed', '/verify/refused', '/verify-user/1', '/verify-user/10'],
  ...['/error/no-workflow', '/status/operational', '/status/degraded', '/status/outage', '/verify', '/', '/what-this-means'],
  ...(isLong
    ? ['completed', 'pending', 'linkEnded', 'unserved', 'not_proved', 'long', 'found', 'thousand'].map((name) => `/workflow/${name}`)
    : []),
  ...(isLong ? ['/verify/mock', '/verify/not_proved', '/verify-user/0', '/verify-user/3', '/error/too-often', '/status/fresh'] : []),
];

describe('every page', () => {
  const claims = 'axe finds nothing in light and on a dark phone; the policy is kept; nothing is loaded from elsewhere';
  it.each(looks)(`%s: ${claims}`, async (path) => {
    const { result, complaints, requests } = await visit(path, { colorScheme: 'light' }, async (page) => {
      const light = await axeFindings(page);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize(phone.viewport);
      const small = await axeFindings(page);
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      return { light, small, overflow };
    });
    expect(result).toEqual({ light: [], small: [], overflow: 0 });
    expect(complaints).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(pages.url) && !url.startsWith('data:'))).toEqual([]);
  });

  it.each(['de-DE', 'fr-FR'])('%s: axe finds nothing on a phone, and nothing is too wide', async (locale) => {
    const paths = ['/workflow/named', '/workflow/broken', '/verify/differing', '/verify', '/verify-user/10', '/what-this-means'];
    for (const path of [...paths, '/status/degraded']) {
      const { result } = await visit(path, { ...phone, locale }, async (page) => ({
        findings: await axeFindings(page),
        overflow: await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
      }));
      expect(result, path).toEqual({ findings: [], overflow: 0 });
    }
  });

  it.each([
    ['de-DE', 'Ja: report.txt ist unverändert seit dem 21. November 2026', 'Nein: other.txt ist nicht in dieser Aufzeichnung.'],
    ['fr-FR', 'Oui : report.txt est inchangé depuis le 21 novembre 2026', 'Non : other.txt n’est pas dans cet enregistrement.'],
  ])('%s: answers about a file in the language of the page', async (locale, yes, no) => {
    await visit('/workflow/three', { locale }, async (page) => {
      const files = { 'report.txt': contentOf(1), 'other.txt': Buffer.from('other') };
      await page.setInputFiles(
        '#file',
        Object.entries(files).map(([name, buffer]) => ({ name, mimeType: 'text/plain', buffer })),
      );
      for (const answer of [yes, no]) await page.getByText(answer).waitFor();
    });
  });

  it('is kept out of search indexes, except pages that describe the service', async () => {
    const noIndex = '<meta name="robots" content="noindex, nofollow">';
    const bodies = await Promise.all(samplePaths.map(async (path) => (await pages.app.inject(path)).body));
    expect(samplePaths.filter((_, index) => !bodies[index]!.includes(noIndex))).toEqual(['/what-this-means', '/verify', '/']);
    expect(bodies.at(-1)).toContain('run by <a href="https://acme.example">Acme Stamps S.à r.l.</a>, help@acme.example.');
  });
});

it('every page that says “not qualified” links to the page that says what this means', async () => {
  for (const path of ['/workflow/named', '/verify/sha512'])
    expect((await pages.app.inject(path)).body).toContain('<a href="/what-this-means">');
  expect(mainText((await pages.app.inject('/what-this-means')).body)).toContain(
    'is evidence too: a court may not refuse it for this reason alone',
  );
});

describe('assets', () => {
  it('are cached forever under the address of their content only', async () => {
    const { body } = await pages.app.inject('/');
    const [address, folder] = /(\/assets\/[0-9a-f]{12}\/)start\.css/.exec(body)!;
    for (const script of ['workflow.js', 'proof/merkle-tree.js', '@noble/hashes/sha2.js']) {
      const { statusCode, headers } = await pages.app.inject(folder + script);
      expect([statusCode, headers['content-type']]).toEqual([200, 'application/javascript; charset=utf-8']);
    }
    for (const other of ['@noble/hashes/package.json', '@noble/hashes/sha3.js', '@noble/hashes/src/sha2.ts', 'proof/../app.ts'])
      expect((await pages.app.inject(folder + other)).statusCode).toBe(404);
    const answer = await pages.app.inject(address);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect((await pages.app.inject('/assets/000000000000/start.css')).statusCode).toBe(404);
    expect((await pages.app.inject('/assets/start.css')).statusCode).toBe(404);
  });
});

it('a page loads one style sheet, with the common parts, those of its kind and those for paper, in this order', async () => {
  for (const [path, kind] of [
    ['/', 'start'],
    ['/verify/qualified', 'verify'],
    ['/workflow/mixed', 'workflow'],
    ['/status/fresh', 'status'],
    ['/error/down', 'plain'],
  ] as const) {
    const { body } = await pages.app.inject(path);
    const [[, sheet = ''] = [], ...others] = body.matchAll(/<link rel="stylesheet" href="([^"]+)">/g);
    expect([sheet.split('/').at(-1), others]).toEqual([`${kind}.css`, []]);
    const parts = ['base', 'document', 'tones', 'tables', 'forms', ...(kind === 'plain' ? [] : [kind]), 'print'];
    const texts = await Promise.all(parts.map((part) => readFile(join(viewsFolder, 'styles', `${part}.css`), 'utf8')));
    expect((await pages.app.inject(sheet)).body).toBe(texts.join('\n'));
  }
});

it('a page names every script that its script imports, so that they load in one round trip', async () => {
  const { body } = await pages.app.inject('/verify');
  const [folder] = /\/assets\/[0-9a-f]{12}\//.exec(body)!;
  const named = [...body.matchAll(/<link rel="modulepreload" href="([^"]+)">/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(5);
  for (const script of [`${folder}verify.js`, ...named]) {
    const text = (await pages.app.inject(script)).body;
    for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g))
      expect(named).toContain(new URL(path, `http://localhost${script}`).pathname);
  }
});

describe('verify-user pages (W5, W6, W7, E12)', () => {
  it.each([
    [0, 'Thank you, the link was opened'],
    [1, 'You can try 3 times more'],
    [2, 'This was the last try'],
    [3, 'This link has expired'],
    [4, 'This link has already been used'],
    [5, 'This link was tried too often'],
    [6, 'A newer link was sent'],
    [7, 'This record has ended'],
    [8, 'This record is already closed'],
    [9, 'The address of this record was erased'],
    [10, 'Please confirm your e-mail address'],
    [11, 'Thank you, the button was pressed'],
    [10, 'An AI agent that calls itself “Cover Artist 2.1” records its work for you with this service. It named the task “Cover for'],
    [10, 'Nobody has checked what the agent says.'],
    [11, 'An AI agent records its work for you with this service. Nobody has checked'],
    [11, 'If it closes the record, we mail you a link to it.'],
    [12, 'If you pressed its button, all is well'],
  ])('%i says: %s', async (index, sentence) => {
    const { body, headers } = await pages.app.inject(`/verify-user/${index}`);
    expect(body).toContain(sentence);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toContain('<meta name="referrer" content="no-referrer">');
  });
});

describe('status page', () => {
  it('shows the chart in words and as a table', async () => {
    await visit('/status/operational', {}, async (page) => {
      await page.getByText('The same as a table').click();
      const shown = await page.innerText('main');
      for (const said of ['Everything works.', '5,200 failed (hatched) in 30 days', '15 November']) expect(shown).toContain(said);
    });
  });

  it('shows what is wrong, who says that a provider is qualified, and what is not known yet', async () => {
    const text = async (name: string) => mainText((await pages.app.inject(`/status/${name}`)).body);
    const degraded = await text('degraded');
    for (const said of [
      'some parts do not work',
      'Stamps are made. Some providers make no stamps.',
      'acme-qtsa – Qualified: a trusted list of the EU grants the service.',
      'claimed-tsa – Claimed to be qualified: only the operator of this service says so.',
      'withdrawn-tsa – Not qualified. The trusted list does not grant the service for the time of the time-stamp.',
      'Only those of the tier standard.',
    ])
      expect(degraded).toContain(said);
    expect(await text('fresh')).toMatch(/acme-qtsa\s+Not asked yet\s+Not asked yet\s+–\s+–\s+None yet/);
  });
});

describe('errors (V8)', () => {
  it.each([
    ['no-workflow', 'No such record', 'Ask for the full address'],
    ['cut-workflow', 'This address is not complete', '36 characters long'],
    ['no-confirmation', 'This link leads nowhere', 'Nothing was confirmed.'],
    ['no-content', 'Nothing to fetch here', 'is a secret'],
    ['too-often', 'That was too often', 'Try again in 42 seconds.'],
    ['down', 'We cannot answer just now', 'Try again in 2 seconds.'],
    ['ours', 'Something went wrong on our side', 'request <code>01995f3a'],
  ])('%s is explained in words', async (name, ...said) => {
    const { body } = await pages.app.inject(`/error/${name}`);
    for (const sentence of said) expect(body).toContain(sentence);
  });
});
