import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { axeFindings } from '../support/axe.ts';
import { contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { createPageServer, samplePaths } from '../support/page-server.ts';
import { useSamplePages } from '../support/sample-pages.ts';

const pages = useSamplePages();
const { visit } = pages;

const phone = { viewport: { width: 390, height: 844 } };
const { workflowId } = workflowSamples.long;

describe('every page', () => {
  const claims = 'axe finds nothing in light, in dark and on a phone; the policy is kept; nothing is loaded from elsewhere';
  it.each(samplePaths)(
    `%s: ${claims}`,
    async (path) => {
      const { result, complaints, requests } = await visit(path, { colorScheme: 'light' }, async (page) => {
        const light = await axeFindings(page);
        await page.emulateMedia({ colorScheme: 'dark' });
        const dark = await axeFindings(page);
        await page.setViewportSize(phone.viewport);
        const small = await axeFindings(page);
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        return { light, dark, small, overflow };
      });
      expect(result).toEqual({ light: [], dark: [], small: [], overflow: 0 });
      expect(complaints).toEqual([]);
      expect(requests.filter((url) => !url.startsWith(pages.url) && !url.startsWith('data:'))).toEqual([]);
    },
    60_000,
  );

  it.each(samplePaths.filter((path) => path !== '/'))('%s is kept out of indexes', async (path) => {
    expect((await pages.app.inject(path)).body).toContain('<meta name="robots" content="noindex, nofollow">');
  });
});

describe('assets', () => {
  it('are kept for ever under the address of their content, and no other', async () => {
    const { body } = await pages.app.inject('/');
    const address = /href="(\/assets\/qstamp-[0-9a-f]{12}\.css)"/.exec(body)![1]!;
    const answer = await pages.app.inject(address);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect((await pages.app.inject('/assets/qstamp-000000000000.css')).statusCode).toBe(404);
    expect((await pages.app.inject('/assets/qstamp.css')).statusCode).toBe(404);
  });
});

describe('workflow page', () => {
  const text = async (name: keyof typeof workflowSamples, options: BrowserContextOptions = {}) =>
    (await visit(`/workflow/${name}`, options, (page) => page.innerText('main'))).result;

  const marks = async (name: keyof typeof workflowSamples) =>
    (await visit(`/workflow/${name}`, {}, (page) => page.locator('.mark').allInnerTexts())).result;

  it('W14: says everything without JavaScript', async () => {
    const shown = await text('completed', { javaScriptEnabled: false });
    const { briefingHash, anchor, outputs } = workflowSamples.completed;
    for (const said of ['Completed', 'j•••@example.com', 'Confirmed 21 November 2026, 09:14:02 UTC', 'Verified', 'evidence bundle']) {
      expect(shown).toContain(said);
    }
    for (const hash of [briefingHash, anchor!.rootHash, ...outputs.rows.map((row) => row.hash)]) expect(shown).toContain(hash);
    expect(shown).not.toContain('Copy');
    expect(shown).not.toContain('drop them here');
  });

  it('marks stamps that are not qualified in words, on top and one by one, and no others', async () => {
    expect(await text('completed')).toContain('All 13 stamps of this record');
    expect(await text('mixed')).toContain('1 of 6 stamps');
    expect(await marks('mixed')).toEqual(['Qualified', 'Qualified', 'Not qualified', 'Qualified', 'Qualified', 'Qualified']);
    expect((await text('qualified')).toLowerCase()).not.toContain('not qualified');
    expect(await marks('qualified')).toEqual(Array(8).fill('Qualified'));
  });

  it('W2: says that the e-mail is unverified', async () => {
    expect(await text('pending')).toContain('E-mail address not confirmed');
    expect(await text('completed')).not.toContain('not confirmed');
  });

  it('W5, W10: says expired, and shows nothing of a redacted address', async () => {
    const shown = await text('expired');
    expect(shown).toContain('Expired');
    expect(shown).toContain('Removed on request');
    expect(shown).not.toContain('@');
  });

  it('escapes whatever a caller chose', async () => {
    const model = { ...workflowSamples.completed, maskedEmail: '<•••@<script>alert(1)</script>' };
    const hostile = await createPageServer();
    hostile.get('/hostile', (_, reply) => reply.page('workflow', model));
    const { body } = await hostile.inject('/hostile');
    await hostile.close();
    expect(body).toContain('&lt;•••@&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).not.toContain('<script>alert');
  });

  it('gives each output its anchor, and leads from the anchor of another page to that page', async () => {
    const { result } = await visit(`/workflow/${workflowId}#output-203`, {}, async (page) => {
      await page.waitForURL(/page=3#output-203$/);
      return page.locator('#output-203 .copyable').getAttribute('data-copy');
    });
    expect(result).toBe(sha256Of(contentOf(203)));
  });

  it('copies a hash and says so', async () => {
    const options = { permissions: ['clipboard-read', 'clipboard-write'] };
    const { result } = await visit('/workflow/completed', options, async (page) => {
      await page.getByRole('button', { name: 'Copy the hash of output 4', exact: true }).click();
      await page.getByText('Copied the hash of output 4').waitFor({ state: 'attached' });
      return page.evaluate('navigator.clipboard.readText()');
    });
    expect(result).toBe(sha256Of(contentOf(4)));
  });

  it('is a table to a screen reader on a phone too', async () => {
    await visit('/workflow/completed', phone, async (page) => {
      const cells = page
        .getByRole('table')
        .getByRole('row', { name: /Output 4/ })
        .getByRole('cell');
      expect(await cells.count()).toBe(5);
    });
  });
});

describe('verify-user pages (W5, W6, W7, E12)', () => {
  it.each([
    [0, 'Thank you, your address is confirmed'],
    [1, 'You can try 3 times more'],
    [2, 'This was the last try'],
    [3, 'This link has expired'],
    [4, 'This link has already been used'],
    [5, 'This link was tried too often'],
    [6, 'This workflow has ended'],
    [7, 'This workflow is already closed'],
    [8, 'The address of this workflow was removed'],
  ])('%i says: %s', async (index, sentence) => {
    const { body, headers } = await pages.app.inject(`/verify-user/${index}`);
    expect(body).toContain(sentence);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toContain('<meta name="referrer" content="no-referrer">');
  });
});

describe('status page', () => {
  it('shows the chart in words and as a table, and what is wrong', async () => {
    const { result } = await visit('/status/operational', {}, async (page) => {
      await page.getByText('The same as a table').click();
      return page.innerText('main');
    });
    expect(result).toContain('Everything works.');
    expect(result).toMatch(/5,200 failed \(hatched\) in 30 days/);
    expect(result).toContain('15 November');
    const degraded = await pages.app.inject('/status/degraded');
    expect(degraded.body).toContain('not everything works as it should');
    expect(degraded.body).toContain('One of two answers');
  });
});

describe('on paper', () => {
  it('the record is printed as ink on white, with its address and without controls', async () => {
    await visit('/workflow/completed', { colorScheme: 'dark' }, async (page) => {
      await page.emulateMedia({ media: 'print' });
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
      expect(await page.locator('.check').isVisible()).toBe(false);
      expect(await page.getByRole('button').count()).toBe(0);
      const before = await page.evaluate('getComputedStyle(document.querySelector(".address"), "::before").content');
      expect(before).toContain('Check this record at');
    });
  });
});
