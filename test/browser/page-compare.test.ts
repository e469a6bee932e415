import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { workflowViewOf } from '../../src/api/workflows/page.ts';
import { zipOf } from '../support/containers.ts';
import { briefing, contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { createPageServer } from '../support/page-server.ts';
import { mainText } from '../support/page-text.ts';
import { openParts, samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const { workflowId } = workflowSamples.long;

/** Loads the page again so that the browser has no tree of all outputs, and asks the service for a hash. */
async function withoutTree(page: Page): Promise<void> {
  await page.route('**/outputs.json*', (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await page.getByText('Your browser recomputed a part of it').waitFor();
}

const file = (name: string, content: Buffer | string) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
const mine = file('mine', contentOf(1));
const far = file('far.bin', contentOf(250));
const drop = async (page: Page, files: Parameters<Page['setInputFiles']>[1], ...says: readonly string[]) => {
  await page.setInputFiles('#file', files);
  for (const words of says) await page.getByText(words).first().waitFor();
};

describe('comparing a file', () => {
  it('says which output it is, or that it is the briefing, for small and large files, and no file leaves the browser', async () => {
    // A browser reads it in much smaller pieces.
    const large = Buffer.alloc(3_000_000, 'qstamp');
    const { requests } = await visit('/workflow/completed', {}, async (page) => {
      await drop(page, [file('mine.bin', contentOf(4)), file('briefing.txt', briefing), file('large.bin', large)], 'No: large.bin');
      await openParts(page);
      const said = await page.innerText('.results');
      expect(said).toContain('Yes: mine.bin is in this record.');
      expect(said).toContain('It is file 4.');
      expect(said).toContain('It is the briefing.');
      expect(said).toContain('No: large.bin is not in this record.');
      expect(said).toContain('Even saving a file again can change it. Ask for the original.');
      expect(said).toContain(`Its SHA-256 is ${sha256Of(large)}.`);
      expect(await page.locator('.results li', { hasText: 'large.bin' }).getAttribute('data-hash')).toBe(sha256Of(large));
      expect(await page.locator('tr.match').getAttribute('id')).toBe('output-4');
    });
    const published = ['', '/outputs.json?first=1', '/closing-record.json'].map((path) => `${pages.url}/workflow/completed${path}`);
    expect(requests.filter((url) => !url.includes('/assets/') && !url.startsWith('data:'))).toEqual(published);
    expect((await pages.app.inject('/workflow/foundBriefing')).body).toContain('Yes: this is the fingerprint of the briefing.');
  });

  const recorded = 'Not proved: mine is recorded as file 1, but nothing here proves it.';
  it.each([
    ['not_proved', 'No: other is not in this record.'],
    ['unfinished', 'It is not known whether other is in this record'],
  ])('V9: if the workflow is %s, the page calls a file only recorded', async (name, said) => {
    await visit(`/workflow/${name}`, {}, async (page) => {
      await drop(page, [mine, file('other', 'other')], recorded, said);
      expect(await page.locator('.check .verdict-proved').count()).toBe(0);
    });
  });

  it('V9: an unfinished page does not say that a hash is not an output', async () => {
    const model = { ...workflowSamples.unfinished, find: workflowSamples.notFound.find };
    const app = await createPageServer();
    app.get('/asked', (_, reply) => reply.page('workflow', workflowViewOf(model)));
    const { body } = await app.inject('/asked');
    await app.close();
    expect(mainText(body)).toContain('It is not known whether a file of this record has this fingerprint');
  });

  it('V9: once the browser finds the record invalid, no earlier compared file is called a match', async () => {
    await visit('/workflow/qualified', {}, async (page) => {
      const { promise: isCompared, resolve: letGo } = Promise.withResolvers<void>();
      await page.route('**/root/evidence', async (route) => {
        await isCompared;
        await route.fulfill({ body: 'rubbish' });
      });
      await page.reload();
      await drop(page, mine, 'Yes: mine is unchanged since 21 November 2026, 10:02 UTC.');
      letGo();
      await page.getByText(recorded).waitFor();
    });
  });

  it('says the time first as the reader’s clocks show it', async () => {
    await visit('/workflow/oneReal', { timezoneId: 'America/New_York' }, (page) =>
      drop(page, mine, 'Yes: mine is unchanged since 21 November 2026, 05:02 your time (10:02 UTC).'),
    );
  });

  it('leads time-stamps and bundles to the page Verify', async () => {
    const bundle = await zipOf([{ name: 'closing-record.json', content: Buffer.from('{}') }]);
    await visit('/workflow/completed', {}, async (page) => {
      for (const given of [file('a.qstamp.json', '{}'), file('a.tsr', 'x'), file('evidence.zip', bundle)]) {
        await drop(page, given, `${given.name} is a time-stamp or an evidence bundle.`);
        expect(await page.getByRole('link', { name: 'Check it on the page Verify' }).getAttribute('href')).toBe('/verify');
      }
    });
  });

  it('accepts a dropped file', async () => {
    await visit('/workflow/completed', {}, async (page) => {
      const transfer = await page.evaluateHandle(`(() => {
        const data = new DataTransfer();
        data.items.add(new File([${JSON.stringify(contentOf(7).toString())}], 'dropped.txt'));
        return data;
      })()`);
      await page.dispatchEvent('.drop', 'drop', { dataTransfer: transfer });
      await page.getByText('Yes: dropped.txt is in this record.').waitFor();
    });
  });

  it('fits on a phone with every result for a file', async () => {
    await visit('/workflow/completed', { viewport: { width: 360, height: 740 } }, async (page) => {
      await drop(page, file('a-name-without-a-space-that-is-longer-than-a-phone-is-wide.bin', contentOf(99_999)), 'is not in this record.');
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    });
  });

  it('asks the service for an output on another page by its hash alone, and says so if it does not answer', async () => {
    const { requests } = await visit(`/workflow/${workflowId}`, {}, async (page) => {
      await withoutTree(page);
      await page.route('**/*find=*', (route) => route.fulfill({ status: 503 }));
      await drop(page, far, 'Not compared:');
      await page.unroute('**/*find=*');
      // V9: the page may be older than the state of its record.
      await page.route('**/*find=*', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: (await answer.text()).replace('data-proof="proved"', 'data-proof="broken"') });
      });
      await drop(page, file('older.bin', contentOf(249)), 'Not proved: older.bin is recorded as file 249');
      await page.unroute('**/*find=*');
      await drop(page, far, 'far.bin is');
      await openParts(page);
      await page.getByRole('link', { name: 'file 250' }).click();
      await page.waitForURL(/page=3#output-250$/);
    });
    expect(requests).toContain(`${pages.url}/workflow/${workflowId}?find=${sha256Of(contentOf(250))}`);
  });

  it('works with the hash without JavaScript', async () => {
    const { body: asked } = await pages.app.inject(`/workflow/${workflowId}`);
    const [, action] = /<form\b[^>]* action="([^"]*)"[^>]*>(?:(?!<\/form>).)*<input\b[^>]* name="find"/s.exec(asked) ?? [];
    const { body: found } = await pages.app.inject(`${action?.split('#')[0]}?find=${sha256Of(contentOf(120))}`);
    expect(mainText(found)).toContain('Yes: this is the fingerprint of file 120');
    const [, link = ''] = /href="([^"]*)">file 120<\/a>/.exec(found) ?? [];
    expect(link).toMatch(/page=2#output-120$/);
    expect((await pages.app.inject(link.split('#')[0] ?? '')).body).toContain('id="output-120"');
  });
});
