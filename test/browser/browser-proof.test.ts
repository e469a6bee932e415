import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { evidenceFor } from '../support/page-record.ts';
import { contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const { qualified, long } = workflowSamples;
const settled = (page: Page) => page.locator('#in-browser-proof[data-state]').waitFor();
const stateOf = (page: Page) => page.getAttribute('#in-browser-proof', 'data-state');

type Json = { outputs: { sequence_number: number; output_hash: string; chain_hash: string }[] };

/** Serves changed data at one address, and loads the page again. */
async function tampered(page: Page, address: string, change: (published: Buffer) => Buffer | string) {
  await page.route(address, async (route) => {
    const published = await route.fetch();
    await route.fulfill({ response: published, body: change(await published.body()) });
  });
  await page.reload();
  await settled(page);
}

const outputsWith = (change: (published: Json) => void) => (published: Buffer) => {
  const json = JSON.parse(published.toString()) as Json;
  change(json);
  return JSON.stringify(json);
};

describe('the browser verifies too (V9, W8, W9, W18)', () => {
  it('recomputes chain, outputs, root and closing record, reads both tokens, and says what it checked and what not', async () => {
    const { result, complaints } = await visit('/workflow/qualified', {}, async (page) => {
      await settled(page);
      return {
        state: await stateOf(page),
        all: await page.innerText('main'),
        steps: await page.locator('#in-browser-proof li').allInnerTexts(),
      };
    });
    expect(result.state).toBe('proved');
    expect(result.all).toContain('Your browser recomputed it too, with the same result');
    expect(result.steps.map((step) => step.trim())).toEqual([
      'Chain. 7 chain hashes were recomputed, one after the other, starting from the hash of the briefing.',
      'Outputs. Each output on this page is the published output with the same number, and a path of up to 3 hashes leads from its leaf to the root.',
      'Merkle root. Recomputed from the leaves of all outputs, it is the same as on this page.',
      'Time-stamp of the Merkle root. Its token is for exactly this hash, and has the time that this page shows.',
      expect.stringContaining('Closing record. Its SHA-256 is the same as on this page'),
      'Time-stamp of the closing record. Its token is for exactly this hash, and has the time that this page shows.',
    ]);
    expect(result.all).toContain(
      'Not checked here: the signatures of the time-stamps, the certificates behind them, and the stamps of single outputs.',
    );
    expect(result.all).toContain('verify.py');
    expect(complaints).toEqual([]);
  });

  it.each([
    ['one', 'Chain. The chain hash of the output was recomputed starting from the hash of the briefing.', 'partial'],
    ['closedEmpty', 'Chain. There is no output to link.', 'partial'],
    ['pending', 'No root is stamped yet for all outputs.', 'proved'],
    ['thousand', 'Chain. 1,000 chain hashes were recomputed', 'partial'],
    ['completed', 'Not checked: a stamp of the mock provider has no token to check.', 'partial'],
  ])('shows the matching text for %s', async (name, said, state) => {
    await visit(`/workflow/${name}`, {}, async (page) => {
      await settled(page);
      expect(await page.innerText('#in-browser-proof')).toContain(said);
      expect(await stateOf(page)).toBe(state);
      if (name === 'completed') expect(await axeFindings(page)).toEqual([]);
    });
  });

  it('works offline once loaded: files are compared over all pages without a connection', async () => {
    await visit(`/workflow/${long.workflowId}`, {}, async (page) => {
      await settled(page);
      await page.context().setOffline(true);
      try {
        await page.setInputFiles('#file', { name: 'far.bin', mimeType: 'a/b', buffer: contentOf(249) });
        await page.getByText('far.bin is output 249. Its leaf and a path of 6 hashes lead to the root').waitFor();
      } finally {
        await page.context().setOffline(false);
      }
    });
  });

  const other = sha256Of('other');
  const { root, closingRecord: record } = qualified;
  const older = { ...record!, stamp: { ...record!.stamp, stampedAt: '2026-11-20T10:02:30.501Z' } };
  const addresses = {
    outputs: '**/outputs.json*',
    root: '**/root/evidence',
    record: '**/closing-record.json',
    seal: '**/closing-record/evidence',
  };
  const output = (index: number, changed: object) => outputsWith(({ outputs }) => void Object.assign(outputs[index]!, changed));
  const otherTier = (published: Buffer) => published.toString().replace('"tier":"qualified"', '"tier":"standard"');
  const otherRoot = 'The time-stamp of the Merkle root is for a different hash.';
  it.each<[what: string, at: keyof typeof addresses, change: (published: Buffer) => Buffer | string, said: string]>([
    ['a chain hash', 'outputs', output(6, { chain_hash: other }), 'The chain breaks at output 7'],
    ['the time-stamp of another root', 'root', () => evidenceFor({ ...root!, hash: other }), otherRoot],
    ['an older time-stamp of the record', 'seal', () => evidenceFor(older), 'closing record has a different time than this page.'],
    ['another closing record', 'record', otherTier, 'published closing record differs from the one on this page.'],
  ])('%s: shows this first and large, and makes no other claim', async (_what, at, change, said) => {
    await visit('/workflow/qualified', {}, async (page) => {
      await tampered(page, addresses[at], change);
      const text = await page.innerText('main');
      expect(text.trimStart()).toMatch(/^Your browser finds that this record does not hold/);
      expect(text).toContain(said);
      expect(text).toContain('Does not hold');
      expect(text).not.toMatch(
        /Completed\n|Completed on|covers these outputs|with the same result|Checked for this page|Qualified\n|Stamped/,
      );
      expect(await stateOf(page)).toBe('broken');
    });
  });

  it('detects a page that differs from the closed state: an output, the root, a time, the number of outputs', async () => {
    for (const [from, to, said] of [
      [sha256Of(contentOf(2)), other, 'Output 2 on this page differs from the published one.'],
      [qualified.root!.hash, other, 'The Merkle root of the published outputs differs from the one on this page.'],
      [qualified.startedAt, '2026-11-20T09:12:44Z', 'The closing record has a different start.'],
      ['&quot;total&quot;:7', '&quot;total&quot;:8', 'This page shows 8 outputs, but 7 are published.'],
    ] as const) {
      await visit('/workflow/qualified', {}, async (page) => {
        await tampered(page, '**/workflow/qualified', (html) => html.toString().replaceAll(from, to));
        expect(await page.innerText('.alarm.failure')).toContain(said);
      });
    }
  });

  it('data that could not be loaded is not called valid', async () => {
    await visit('/workflow/qualified', {}, async (page) => {
      await page.route('**/root/evidence', (route) => route.fulfill({ status: 503 }));
      await page.reload();
      await settled(page);
      expect(await stateOf(page)).toBe('partial');
      expect(await page.innerText('main')).toContain('Your browser recomputed a part of it');
      expect(await page.innerText('#in-browser-proof')).toContain(
        'Not checked: its evidence record could not be loaded: the service answered 503.',
      );
    });
  });

  it('W14: without JavaScript the page does not mention it', async () => {
    const { result } = await visit('/workflow/qualified', { javaScriptEnabled: false }, (page) => page.innerText('main'));
    expect(result).not.toContain('our browser');
    expect(result).toContain('Completed');
  });
});
