import { describe, expect, it } from 'vitest';
import { contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { createPageServer } from '../support/page-server.ts';
import { mainText, plainText } from '../support/page-text.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const { workflowId } = workflowSamples.long;

/** Texts that a page may show only for a proved record. */
const claimsOfProof = /Qualified|covers th|Completed\n|existed/;

describe('workflow page', () => {
  const bodyOf = async (name: keyof typeof workflowSamples) => (await pages.app.inject(`/workflow/${name}`)).body;
  const text = async (name: keyof typeof workflowSamples) => mainText(await bodyOf(name));
  const marks = async (name: keyof typeof workflowSamples) =>
    [...(await bodyOf(name)).matchAll(/<span class="mark [^>]*>(.*?)<\/span>/gs)].map(([, html = '']) => plainText(html).trim());

  it('W14: shows everything without JavaScript', async () => {
    const { result: shown } = await visit('/workflow/completed', { javaScriptEnabled: false }, (page) => page.innerText('main'));
    const { briefingHash, root, closingRecord, outputs } = workflowSamples.completed;
    for (const said of [
      'Completed',
      'j•••@example.com',
      'Confirmed by opening the link, 21 November 2026, 09:14:02 UTC',
      'cover-artist/2.1',
      'evidence bundle',
      'Acme',
    ]) {
      expect(shown).toContain(said);
    }
    for (const hash of [briefingHash, root!.hash, closingRecord!.hash, ...outputs.rows.map((row) => row.hash)])
      expect(shown).toContain(hash);
    expect(shown).not.toContain('Copy');
    expect(shown).not.toContain('Drop your file here');
  });

  it('marks unqualified stamps in words, on top and one by one, and no others', async () => {
    expect(await text('mixed')).toMatch(/Qualified: the service .*1 of 7 stamps is not qualified; it is marked\./);
    expect(await marks('mixed')).toEqual(['Qualified', 'Qualified', 'Test stamp', 'Qualified', 'Qualified', 'Qualified', 'Qualified']);
    expect((await text('qualified')).toLowerCase()).not.toContain('not qualified');
    expect(await text('claimed')).toMatch(/Qualified, as claimed by the operator.*See the marks for the stamps of the single files\./);
    expect(await marks('claimed')).toEqual([
      'Qualified, claimed by the operator',
      'Qualified',
      'Qualified, claimed by the operator',
      'Qualified',
    ]);
    expect(await text('claimed')).toMatch(/Closing record.*Qualified: the service/s);
    // One mark for all outputs, and those of root and closing record.
    expect(await marks('qualified')).toEqual(Array(3).fill('Qualified'));
  });

  it('V9: shows a mismatch first, and then claims nothing', async () => {
    const shown = await text('broken');
    expect(shown.trimStart()).toMatch(/^This record does not hold/);
    expect(shown).toContain('The chain breaks at output 3');
    expect(shown).toContain('The stamp of output 3 does not verify. record_mismatch:');
    expect(shown).not.toMatch(claimsOfProof);
    expect(await marks('broken')).toEqual(['Does not verify']);
    expect(shown).not.toContain('Download the evidence bundle');
    const { result } = await visit('/workflow/broken', {}, async (page) => {
      await page.locator('#in-browser-proof[data-state]').waitFor();
      return page.innerText('main');
    });
    expect(result).not.toContain('Your browser recomputed');
  });

  it('V9: claims nothing without a configured trust anchor, and says that nothing is proved', async () => {
    const shown = await text('not_proved');
    expect(shown.trimStart()).toMatch(/^Not proved\s+This installation trusts no certificate/);
    expect(shown).not.toMatch(claimsOfProof);
    expect(await marks('not_proved')).toEqual(Array(3).fill('Not proved'));
  });

  it.each([
    ['closedEmpty', 'A test record without files', 'just now: the Merkle root and its stamp', 'The workflow was closed without any file.'],
    ['empty', 'Nothing is stamped yet.', 'No file has been stamped yet.'],
    [
      'oneReal',
      '1 file with the fingerprint below existed on',
      'listed in Luxembourg’s trusted list no. 61 as granted since 1 March 2019. The stamp of the file itself is qualified too.',
      'the stamp of the output.',
      'Root over the one output',
    ],
    [
      'named',
      '4 files with the fingerprints below existed on',
      'Not known to be qualified. None of the trusted lists that were read has the service that signed it. This is evidence, but no court',
    ],
    ['pending', 'A test record of 3 files'],
  ] as const)('uses the right singular or plural for %s', async (name, ...sentences) => {
    const shown = await text(name);
    for (const sentence of sentences) expect(shown).toContain(sentence);
  });

  it('W2: says that the mailed link was not opened, and shows the state of the mail', async () => {
    expect(await text('pending')).toContain('Not confirmed; the mail with the link was sent.');
    expect(await text('undelivered')).toContain('the mail with the link could not be delivered');
    expect(await text('completed')).not.toMatch(/not confirmed/i);
  });

  it('W19: says that nothing can be stamped if no provider serves the tier', async () => {
    expect(await text('unserved')).toContain('Nothing can be stamped');
    expect(await text('empty')).not.toContain('Nothing can be stamped');
  });

  it('W5, W10: says expired, and shows no part of a redacted address', async () => {
    const shown = await text('expired');
    expect(shown).toContain('Expired');
    expect(shown).toContain('[REDACTED], erased on request');
    expect(shown).not.toContain('@example.com');
    expect(shown).not.toContain('cover-artist');
  });

  it('escapes all values from callers', async () => {
    const model = { ...workflowSamples.completed, agentId: '<script>alert(1)</script>' };
    const hostile = await createPageServer();
    hostile.get('/hostile', (_, reply) => reply.page('workflow', model));
    const { body } = await hostile.inject('/hostile');
    await hostile.close();
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).not.toContain('<script>alert');
  });

  it('gives each output an anchor, and redirects an anchor of another page to that page', async () => {
    const { result } = await visit(`/workflow/${workflowId}#output-203`, {}, async (page) => {
      await page.waitForURL(/page=3#output-203$/);
      return page.locator('#output-203 .copyable').getAttribute('data-copy');
    });
    expect(result).toBe(sha256Of(contentOf(203)));
  });

  it('links to any output without JavaScript', async () => {
    const { body } = await pages.app.inject(`/workflow/${workflowId}?page=2`);
    expect(body).toContain(`<a href="/workflow/${workflowId}?page=3#outputs"><span class="visually-hidden">Outputs </span>201–250</a>`);
    expect(body).toMatch(/<input id="output" name="output" type="number"/);
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
    await visit('/workflow/completed', { viewport: { width: 390, height: 844 } }, async (page) => {
      const cells = page
        .getByRole('table')
        .getByRole('row', { name: /Output 4/ })
        .getByRole('cell');
      expect(await cells.count()).toBe(4);
    });
  });
});

describe('the outputs', () => {
  const outputsOf = async (name: keyof typeof workflowSamples) => {
    const { result } = await visit(`/workflow/${name}`, {}, (page) => page.innerText('section:has(> .outputs)'));
    return result;
  };

  it('W24: have the names that the agent gave, marked as not proved', async () => {
    const shown = await outputsOf('named');
    expect(shown).toContain('Names in quotation marks were given by the agent; they are not proved.');
    expect(shown).toMatch(/Output 1\s+“cover\.png”, image/);
    expect(shown).toMatch(/Output 3\s+code/);
    expect(await outputsOf('qualified')).not.toContain('given by the agent');
  });

  it('have each day once, and a sentence if the times run backwards', async () => {
    const shown = await outputsOf('named');
    expect(shown.match(/2\d November 2026/g)).toEqual(['21 November 2026', '22 November 2026']);
    expect(shown).toContain('Some times run backwards');
    expect(await outputsOf('qualified')).not.toContain('backwards');
  });

  it('take less than 40 pixels each, with the provider named once', async () => {
    const { result } = await visit('/workflow/many', { viewport: { width: 1280, height: 900 } }, async (page) => ({
      height: (await page.locator('.outputs').boundingBox())?.height,
      text: await page.innerText('section:has(> .outputs)'),
    }));
    expect(result.height).toBeLessThan(150 * 40);
    expect(result.text.match(/acme-qtsa/g)).toHaveLength(1);
  });
});

describe('the first screens', () => {
  it.each(['named', 'completed'] as const)(
    'of a phone have the headline, the drop zone and the button for the evidence: %s',
    async (name) => {
      await visit(`/workflow/${name}`, { viewport: { width: 390, height: 844 } }, async (page) => {
        const bottomOf = async (selector: string) => {
          const box = await page.locator(selector).boundingBox();
          return box!.y + box!.height;
        };
        expect(await bottomOf('.drop')).toBeLessThan(1.5 * 844);
        expect(await bottomOf('.bundle .button')).toBeLessThan(1.5 * 844);
      });
    },
  );

  it('have no drop zone if there is nothing to compare', async () => {
    for (const name of ['empty', 'closedEmpty']) expect((await pages.app.inject(`/workflow/${name}`)).body).not.toContain('class="drop"');
  });

  it('show the local time of the reader beside UTC', async () => {
    const { result } = await visit('/workflow/named', { timezoneId: 'Asia/Tokyo' }, (page) => page.innerText('.title'));
    expect(result).toContain('21 November 2026, 10:02:30.482 UTC (19:02 in your time zone)');
  });
});

describe('on paper', () => {
  it('a record of one output is one page, with the QR code, and nothing about browsers', async () => {
    await visit('/workflow/oneReal', {}, async (page) => {
      await page.locator('#in-browser-proof[data-state]').waitFor();
      const pdf = await page.pdf({ preferCSSPageSize: true });
      expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1);
      await page.emulateMedia({ media: 'print' });
      expect(await page.innerText('main')).not.toMatch(/browser/i);
      const [code, title] = [await page.locator('.qr').boundingBox(), await page.locator('.title').boundingBox()];
      expect(code!.y).toBeLessThan(title!.y + title!.height);
    });
  });

  it('the record is black on white, with its address as text and as QR code, the ids of its stamps and no controls', async () => {
    const { address, outputs } = workflowSamples.completed;
    await visit('/workflow/completed', { colorScheme: 'dark' }, async (page) => {
      await page.emulateMedia({ media: 'print' });
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
      expect(await page.locator('.check').isVisible()).toBe(false);
      expect(await page.getByRole('button').count()).toBe(0);
      const printed = await page.innerText('main');
      expect(printed).toContain(`Check this record at ${address}`);
      for (const { tokenId } of outputs.rows) expect(printed).toContain(tokenId);
      expect(await page.getByRole('img', { name: 'QR code of the address' }).isVisible()).toBe(true);
    });
  });
});
