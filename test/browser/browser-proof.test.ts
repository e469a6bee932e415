import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { evidenceFor } from '../support/page-record.ts';
import { contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { openParts, samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const { qualified, long } = workflowSamples;
const settled = async (page: Page) => {
  await page.locator('#in-browser-proof[data-state]').waitFor({ state: 'attached' });
  await openParts(page);
};
const stateOf = (page: Page) => page.getAttribute('#in-browser-proof', 'data-state');

/** Serves changed data at one address, and loads the page again. */
async function tampered(page: Page, address: string, change: (published: Buffer) => Buffer | string) {
  await page.route(address, async (route) => {
    const published = await route.fetch();
    await route.fulfill({ response: published, body: change(await published.body()) });
  });
  await page.reload();
  await settled(page);
}

/** Visits the page of a workflow until the browser has judged it, and says how, and what the page says then. */
async function judged(name: string, prepare: (page: Page) => Promise<void> = async () => undefined) {
  const { result, complaints } = await visit(`/workflow/${name}`, {}, async (page) => {
    await prepare(page);
    await settled(page);
    const [state, all, proof] = [await stateOf(page), await page.innerText('main'), await page.innerText('#in-browser-proof')];
    return { state, all, proof, steps: await page.locator('#in-browser-proof li').allInnerTexts() };
  });
  return { ...result, complaints };
}

describe('the browser verifies too (V9, W8, W9, W18)', () => {
  it('recomputes chain, outputs, root and closing record, reads both tokens, and says what it checked and what not', async () => {
    const { state, all, steps, complaints } = await judged('qualified');
    expect([state, complaints]).toEqual(['proved', []]);
    expect(steps.map((step) => step.trim())).toEqual([
      'Chain. 7 chain hashes were recomputed, one after the other, starting from the hash of the briefing.',
      'Files. Each fingerprint on this page is the published one with the same number. A path of up to 3 hashes leads from its leaf to the root.',
      'Merkle root. Recomputed from all leaves, it is the same as on this page.',
      'Time-stamp of the Merkle root. Its token is for exactly this hash, and has the time that this page shows.',
      expect.stringContaining('Closing record. Its SHA-256 is the same as on this page'),
      'Time-stamp of the closing record. Its token is for exactly this hash, and has the time that this page shows.',
    ]);
    const unchecked = 'the signatures of the time-stamps, the certificates behind them, and the stamps of single files.';
    for (const said of ['Your browser recomputed it too, with the same result', `Not checked here: ${unchecked}`, 'verify.py'])
      expect(all).toContain(said);
  });

  it.each([
    ['one', 'Chain. The chain hash of the file was recomputed, starting from the hash of the briefing.', 'partial'],
    ['closedEmpty', 'Chain. There is no file to link.', 'partial'],
    ['pending', 'Files. Each fingerprint on this page is the published one with the same number.', 'proved'],
    ['thousand', 'Chain. 1,000 chain hashes were recomputed', 'partial'],
    ['completed', 'Not checked: a stamp of the mock provider has no token to check.', 'partial'],
  ])('shows the matching text for %s', async (name, said, state) => {
    expect(await judged(name)).toMatchObject({ state, proof: expect.stringContaining(said) });
  });

  it.each(['qualified', 'pending'])('axe finds nothing in what is shown for %s, whether the record holds or not', async (name) => {
    const { result } = await visit(`/workflow/${name}`, {}, async (page) => {
      await settled(page);
      const proved = await axeFindings(page);
      await tampered(page, '**/outputs.json*', () => '{}');
      return [...proved, ...(await axeFindings(page))];
    });
    expect(result).toEqual([]);
  });

  it('works offline once loaded: files are compared over all pages without a connection', async () => {
    await visit(`/workflow/${long.workflowId}`, {}, async (page) => {
      await settled(page);
      await page.context().setOffline(true);
      try {
        await page.setInputFiles('#file', { name: 'far.bin', mimeType: 'a/b', buffer: contentOf(249) });
        await page.getByText('Yes: far.bin is in this record.').waitFor();
        await openParts(page);
        await page.getByText('It is file 249. Its leaf and a path of 6 hashes lead to the root').waitFor();
      } finally {
        await page.context().setOffline(false);
      }
    });
  });

  const other = sha256Of('other');
  const { root, closingRecord: record } = qualified;
  const older = { ...record!, stamp: { ...record!.stamp, stampedAt: '2026-11-20T10:02:30.501Z' } };
  const replaced = (from: string, to: string) => (published: Buffer) => published.toString().replaceAll(from, to);
  const bentChain = (published: Buffer) => {
    const json = JSON.parse(published.toString()) as { outputs: object[] };
    Object.assign(json.outputs[6]!, { chain_hash: other });
    return JSON.stringify(json);
  };
  const otherRoot = 'The time-stamp of the Merkle root is for a different hash.';
  it.each<[what: string, at: string, change: (published: Buffer) => Buffer | string, said: string]>([
    ['a chain hash', '**/outputs.json*', bentChain, 'The chain breaks at file 7'],
    ['the time-stamp of another root', '**/root/evidence', () => evidenceFor({ ...root!, hash: other }), otherRoot],
    ['an older time-stamp', '**/closing-record/evidence', () => evidenceFor(older), 'closing record has a different time than this page.'],
    [
      'another closing record',
      '**/closing-record.json',
      replaced('"tier":"qualified"', '"tier":"standard"'),
      'published closing record differs from the one on this page.',
    ],
    [
      'an output on the page',
      '**/workflow/qualified',
      replaced(sha256Of(contentOf(2)), other),
      'File 2 on this page differs from the published list.',
    ],
    ['the root on the page', '**/workflow/qualified', replaced(root!.hash, other), 'The Merkle root of the published list differs from'],
    [
      'the start',
      '**/workflow/qualified',
      replaced(qualified.startedAt, '2026-11-20T09:12:44Z'),
      'The closing record has a different start.',
    ],
    [
      'the number',
      '**/workflow/qualified',
      replaced('total&quot;:7', 'total&quot;:8'),
      'This page shows 8 files, but the published list has 7.',
    ],
  ])('%s: shows this first and large, and makes no other claim', async (_what, at, change, said) => {
    const { state, all } = await judged('qualified', (page) => tampered(page, at, change));
    expect(state).toBe('broken');
    expect(all.trimStart()).toMatch(/^Your browser finds that this record does not hold/);
    for (const words of [said, 'Does not hold']) expect(all).toContain(words);
    expect(all).not.toMatch(
      /Record closed|The record is closed:|with the same result|fits together|Checked for this page|Qualified\n|Stamped|existed/,
    );
  });

  it('data that could not be loaded is not called valid', async () => {
    const { state, all, proof } = await judged('qualified', async (page) => {
      await page.route('**/root/evidence', (route) => route.fulfill({ status: 503 }));
      await page.reload();
    });
    expect([state, all]).toEqual(['partial', expect.stringContaining('Your browser recomputed a part of it')]);
    expect(proof).toContain('Not checked: its evidence record could not be loaded: the service answered 503.');
  });

  it('W14: without JavaScript the page does not mention it', async () => {
    const { result } = await visit('/workflow/qualified', { javaScriptEnabled: false }, (page) => page.innerText('main'));
    expect(result).toMatch(/^(?![\s\S]*our browser)[\s\S]*Record closed/);
  });
});
