import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { briefing, contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { createPageServer } from '../support/page-server.ts';
import { mainText } from '../support/page-text.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const { workflowId } = workflowSamples.long;

/** Loads the page again so that the browser has no tree of all outputs, and asks the service for a hash. */
async function withoutTree(page: Page): Promise<void> {
  await page.route('**/outputs.json*', (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await page.getByText('Your browser recomputed a part of it').waitFor();
}

/** Bytes; a browser reads a file in much smaller pieces. */
const largerThanAPiece = 3_000_000;

describe('comparing a file', () => {
  const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });

  it('says which output it is, or that it is the briefing, for small and large files, and no file leaves the browser', async () => {
    const large = Buffer.alloc(largerThanAPiece, 'qstamp');
    const { result, requests } = await visit('/workflow/completed', {}, async (page) => {
      const files = [file('mine.bin', contentOf(4)), file('briefing.txt', Buffer.from(briefing)), file('large.bin', large)];
      await page.setInputFiles('#file', files);
      await page.getByText('No match.').waitFor();
      return {
        said: await page.innerText('.results'),
        marked: await page.locator('tr.match').getAttribute('id'),
        largeHash: await page.locator('.results li', { hasText: 'large.bin' }).getAttribute('data-hash'),
      };
    });
    expect(result.said).toMatch(/Match\. mine\.bin is output 4\./);
    expect(result.said).toContain('briefing.txt is the briefing: the task of the agent, not one of its outputs.');
    expect(result.said).toContain(
      `No match. large.bin is neither one of these outputs nor the briefing. Its SHA-256 is ${sha256Of(large)}.`,
    );
    expect(result.largeHash).toBe(sha256Of(large));
    expect(result.marked).toBe('output-4');
    const published = ['', '/outputs.json?first=1', '/closing-record.json'].map((path) => `${pages.url}/workflow/completed${path}`);
    expect(requests.filter((url) => !url.includes('/assets/') && !url.startsWith('data:'))).toEqual(published);
    expect((await pages.app.inject('/workflow/foundBriefing')).body).toContain('This is the hash of the briefing');
  });

  it.each([
    [
      'not_proved',
      'Not proved. mine is recorded as output 1; this page does not prove it.',
      'No match. other is neither one of these outputs',
    ],
    ['unfinished', 'Not proved. mine is recorded as output 1; this page does not prove it.', 'It is not known whether other is an output'],
  ])('V9: if the workflow is %s, the page calls a file only recorded', async (name, ...said) => {
    await visit(`/workflow/${name}`, {}, async (page) => {
      await page.setInputFiles('#file', [file('mine', contentOf(1)), file('other', Buffer.from('other'))]);
      for (const words of said) await page.getByText(words).waitFor();
      expect(await page.locator('.check .is-match').count()).toBe(0);
    });
  });

  it('V9: an unfinished page does not say that a hash is not an output', async () => {
    const model = { ...workflowSamples.unfinished, find: workflowSamples.notFound.find };
    const app = await createPageServer();
    app.get('/asked', (_, reply) => reply.page('workflow', model));
    const { body } = await app.inject('/asked');
    await app.close();
    expect(mainText(body)).toContain('It is not known whether an output of this workflow has this hash');
  });

  it('V9: once the browser finds the record invalid, no earlier compared file is called a match', async () => {
    await visit('/workflow/qualified', {}, async (page) => {
      const { promise: isCompared, resolve: letGo } = Promise.withResolvers<void>();
      await page.route('**/root/evidence', async (route) => {
        await isCompared;
        await route.fulfill({ body: 'rubbish' });
      });
      await page.reload();
      await page.setInputFiles('#file', file('mine', contentOf(1)));
      await page.getByText('Match. mine is output 1').waitFor();
      letGo();
      await page.getByText('Not proved. mine is recorded as output 1; this page does not prove it.').waitFor();
    });
  });

  it('V9: asks the service again if the page is older than the state of its record', async () => {
    await visit(`/workflow/${workflowId}`, {}, async (page) => {
      await withoutTree(page);
      await page.route('**/*find=*', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: (await answer.text()).replace('data-proof="proved"', 'data-proof="broken"') });
      });
      await page.setInputFiles('#file', file('far.bin', contentOf(250)));
      await page.getByText('Not proved. far.bin is recorded as output 250').waitFor();
    });
  });

  it('accepts a dropped file', async () => {
    const { result } = await visit('/workflow/completed', {}, async (page) => {
      const transfer = await page.evaluateHandle(`(() => {
        const data = new DataTransfer();
        data.items.add(new File([${JSON.stringify(contentOf(7).toString())}], 'dropped.txt'));
        return data;
      })()`);
      await page.dispatchEvent('.drop', 'drop', { dataTransfer: transfer });
      await page.getByText('Match.', { exact: true }).waitFor();
      return page.innerText('.results');
    });
    expect(result).toContain('dropped.txt is output 7');
  });

  it('fits on a phone with every result for a file', async () => {
    const { result } = await visit('/workflow/completed', { viewport: { width: 360, height: 740 } }, async (page) => {
      await page.setInputFiles('#file', file('a-name-without-a-space-that-is-longer-than-a-phone-is-wide.bin', contentOf(99_999)));
      await page.getByText('No match.').waitFor();
      return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    });
    expect(result).toBe(0);
  });

  it('finds an output on another page by its hash alone, and links to it', async () => {
    const { requests } = await visit(`/workflow/${workflowId}`, {}, async (page) => {
      await withoutTree(page);
      await page.setInputFiles('#file', file('far.bin', contentOf(250)));
      await page.getByRole('link', { name: 'output 250' }).click();
      await page.waitForURL(/page=3#output-250$/);
    });
    expect(requests).toContain(`${pages.url}/workflow/${workflowId}?find=${sha256Of(contentOf(250))}`);
  });

  it('says so if the service is unreachable', async () => {
    await visit(`/workflow/${workflowId}`, {}, async (page) => {
      await withoutTree(page);
      await page.route('**/*find=*', (route) => route.fulfill({ status: 503 }));
      await page.setInputFiles('#file', file('far.bin', contentOf(250)));
      await page.getByText('Not compared.').waitFor();
    });
  });

  it('works with the hash without JavaScript', async () => {
    const { body: asked } = await pages.app.inject(`/workflow/${workflowId}`);
    const [, action] = /<form\b[^>]* action="([^"]*)"[^>]*>(?:(?!<\/form>).)*<input\b[^>]* name="find"/s.exec(asked) ?? [];
    const { body: found } = await pages.app.inject(`${action?.split('#')[0]}?find=${sha256Of(contentOf(120))}`);
    expect(mainText(found)).toContain('This hash is output 120');
    const [, link = ''] = /href="([^"]*)">output 120<\/a>/.exec(found) ?? [];
    expect(link).toMatch(/page=2#output-120$/);
    expect((await pages.app.inject(link.split('#')[0] ?? '')).body).toContain('id="output-120"');
  });
});
