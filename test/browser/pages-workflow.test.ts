import { describe, expect, it } from 'vitest';
import { workflowViewOf } from '../../src/api/workflows/page.ts';
import { contentOf, sha256Of, workflowSamples } from '../support/page-samples.ts';
import { createPageServer } from '../support/page-server.ts';
import { mainText, plainText } from '../support/page-text.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const { workflowId } = workflowSamples.long;

/** Texts that a page may show only for a proved record. */
const claimsOfProof = /Qualified|record is closed|Record closed|fits together|existed/;

const bodyOf = async (name: keyof typeof workflowSamples) => (await pages.app.inject(`/workflow/${name}`)).body;
const text = async (name: keyof typeof workflowSamples) => mainText(await bodyOf(name));
const marks = async (name: keyof typeof workflowSamples) =>
  [...(await bodyOf(name)).matchAll(/<span class="mark [^>]*>(.*?)<\/span>/gs)].map(([, html = '']) => plainText(html).trim());

describe('workflow page', () => {
  it('W14: shows everything without JavaScript', async () => {
    const { result: shown } = await visit('/workflow/completed', { javaScriptEnabled: false }, async (page) => {
      for (const part of await page.locator('summary').all()) await part.click();
      return page.innerText('main');
    });
    const { briefingHash, root, closingRecord, outputs } = workflowSamples.completed;
    const confirmed = 'Confirmed by opening the link, 21 November 2026, 09:14:02 UTC';
    const facts = [
      'Record closed',
      'cover-artist/2.1 recorded 12 files for j•••@example.com',
      confirmed,
      'cover-artist/2.1',
      'evidence bundle',
      'Acme',
    ];
    const hashes = [briefingHash, root!.hash, closingRecord!.hash, ...outputs.rows.map((row) => row.hash)];
    for (const said of [...facts, ...hashes]) expect(shown).toContain(said);
    expect(shown).not.toMatch(/Copy|Drop your file here/);
  });

  it('marks unqualified stamps in words, on top and one by one, and no others', async () => {
    expect(await text('mixed')).toMatch(
      /Qualified: the service .*1 of 7 stamps \(of files, root and closing record\) is not qualified; it is marked\./,
    );
    expect(await marks('mixed')).toEqual(['Qualified', 'Qualified', 'Qualified', 'Qualified', 'Test stamp', 'Qualified', 'Qualified']);
    expect(await text('claimed')).toMatch(/Claimed to be qualified.*Closing record.*Qualified: the service/s);
    const claimed = 'Qualified, claimed by the operator';
    expect(await marks('claimed')).toEqual([claimed, 'Qualified', claimed, 'Qualified']);
    expect((await text('qualified')).toLowerCase()).not.toContain('not qualified');
    // One mark for all outputs, and those of root and closing record.
    expect(await marks('qualified')).toEqual(Array(3).fill('Qualified'));
  });

  it('V9: shows a mismatch first, and then claims nothing', async () => {
    const shown = await text('broken');
    expect(shown.trimStart()).toMatch(/^This record does not hold/);
    for (const said of ['The chain breaks at file 3', 'The stamp of file 3 does not verify. record_mismatch:'])
      expect(shown).toContain(said);
    expect(shown).not.toMatch(claimsOfProof);
    expect(shown).not.toContain('Download the evidence bundle');
    expect(await marks('broken')).toEqual(['Does not verify']);
  });

  it('V9: claims nothing without a configured trust anchor, and says that nothing is proved', async () => {
    const shown = await text('not_proved');
    expect(shown.trimStart()).toMatch(/^Not proved\s+This installation trusts no certificate/);
    expect(shown).not.toMatch(claimsOfProof);
    expect(await marks('not_proved')).toEqual(Array(3).fill('Not proved'));
  });

  const byList = 'listed in Luxembourg’s trusted list no. 61 as granted since 1 March 2019.';
  const unknown = 'Not known to be qualified: it is evidence, but no court has to accept the time automatically. What this means';
  const oneMadeFor = 'cover-artist/2.1 recorded 1 file for j•••@example.com';
  it.each([
    [
      'closedEmpty',
      [
        'This is a test record',
        'recorded no file for j•••@example.com',
        'the Merkle root and its stamp',
        'The record was closed without any file.',
      ],
    ],
    ['empty', ['has recorded no file for j•••@example.com yet', 'No file has been stamped yet.'], /Nothing can be stamped/],
    [
      'oneReal',
      [oneMadeFor, 'It existed on 21 November 2026, 10:02 UTC.', byList, 'the stamps of the files on this page.', 'Root over all files'],
    ],
    ['named', ['4 files for j•••@example.com: “Cover of the annual report”', 'They existed on', unknown, 'Nobody has checked them,']],
    // W2: the state of the mail.
    [
      'pending',
      [
        'has recorded 3 files so far',
        'This is a test record',
        'the client has not confirmed the address',
        'Not confirmed; the mail with the link was sent',
      ],
    ],
    ['undelivered', ['the mail with the link could not be delivered']],
    ['completed', ['Confirmed by opening the link'], /not confirmed/i],
    // W19: no provider serves the tier.
    ['unserved', ['Nothing can be stamped']],
    // W5, W10: no part of a redacted address.
    [
      'expired',
      ['Expired', 'An agent whose name was erased recorded 2 files for a client', '[REDACTED], erased on request'],
      /@example\.com|cover-artist/,
    ],
  ] as const)('says in words what is the matter: %s', async (name, sentences, never = /undefined/) => {
    const shown = await text(name);
    for (const sentence of sentences) expect(shown).toContain(sentence);
    expect(shown).not.toMatch(never);
  });

  it('escapes all values from callers', async () => {
    const model = { ...workflowSamples.completed, agentId: '<script>alert(1)</script>' };
    const hostile = await createPageServer();
    hostile.get('/hostile', (_, reply) => reply.page('workflow', workflowViewOf(model)));
    const { body } = await hostile.inject('/hostile');
    await hostile.close();
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).not.toContain('<script>alert');
  });

  it('has no name of an agent in its headline that could be a link', async () => {
    const server = await createPageServer();
    server.get('/luring', (_, reply) =>
      reply.page('workflow', workflowViewOf({ ...workflowSamples.completed, agentId: 'Pay at https://evil.example' })),
    );
    const { body } = await server.inject('/luring');
    await server.close();
    expect(mainText(body)).toContain('An agent recorded 12 files for j•••@example.com');
  });

  it('gives each output an anchor, and redirects an anchor of another page to that page, also without JavaScript', async () => {
    await visit(`/workflow/${workflowId}#output-203`, {}, async (page) => {
      await page.waitForURL(/page=3#output-203$/);
      expect(await page.locator('#output-203 .copyable').getAttribute('data-copy')).toBe(sha256Of(contentOf(203)));
    });
    const { body } = await pages.app.inject(`/workflow/${workflowId}?page=2`);
    expect(body).toContain(`<a href="/workflow/${workflowId}?page=3#outputs"><span class="visually-hidden">Files </span>201–250</a>`);
    expect(body).toMatch(/<input id="output" name="output" type="number"/);
  });

  it('copies a hash and says so, and is a table to a screen reader on a phone too', async () => {
    const phone = { viewport: { width: 390, height: 844 }, permissions: ['clipboard-read', 'clipboard-write'] };
    await visit('/workflow/completed', phone, async (page) => {
      const row = page.getByRole('table').getByRole('row', { name: /File 4/ });
      expect(await row.getByRole('cell').count()).toBe(4);
      await page.getByRole('button', { name: 'Copy the hash of file 4', exact: true }).click();
      await page.getByText('Copied the hash of file 4').waitFor({ state: 'attached' });
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(sha256Of(contentOf(4)));
    });
  });

  it.each([
    ['three', 3, 3],
    ['forty', 4, 10],
  ] as const)('of %s files has at most %i screens of a phone, and a list that is folded after ten', async (name, screens, shown) => {
    await visit(`/workflow/${name}`, { viewport: { width: 390, height: 844 } }, async (page) => {
      await page.locator('#in-browser-proof[data-state]').waitFor({ state: 'attached' });
      expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThanOrEqual(screens * 844);
      expect(await page.locator('tr[data-hash]:visible').count()).toBe(shown);
    });
  });

  it('opens the folded list for a link to an output in it', async () => {
    await visit('/workflow/forty#output-31', {}, (page) => page.locator('#output-31').waitFor());
  });

  it('has no drop zone if there is nothing to compare', async () => {
    for (const name of ['empty', 'closedEmpty'] as const) expect(await bodyOf(name)).not.toContain('class="drop"');
  });
});

describe('the outputs', () => {
  it('W24: have names marked as not proved, each day once, and the local time of the reader beside UTC', async () => {
    const { result: shown } = await visit('/workflow/named', { timezoneId: 'Asia/Tokyo' }, async (page) => ({
      title: await page.innerText('.title'),
      outputs: await page.innerText('section:has(> .outputs)'),
    }));
    expect(shown.title).toContain('They existed on 21 November 2026, 19:02 your time (10:02 UTC).');
    expect(shown.outputs).toContain('Names in quotation marks were given by the agent; they are not proved.');
    expect(shown.outputs).toMatch(/File 1\s+“cover\.png”, image[\s\S]*File 3\s+code/);
    expect(shown.outputs.match(/2\d November 2026/g)).toEqual(['21 November 2026', '22 November 2026']);
    expect(shown.outputs).toContain('Some times run backwards');
  });

  it('name the provider once, and say nothing about names and order where there is nothing to say', async () => {
    const { result: shown } = await visit('/workflow/qualified', {}, (page) => page.innerText('section:has(> .outputs)'));
    expect(shown.match(/acme-qtsa/g)).toHaveLength(1);
    expect(shown).not.toMatch(/given by the agent|backwards/);
  });
});

describe('on paper', () => {
  it('a record of one output is one page, and nothing about browsers', async () => {
    await visit('/workflow/oneReal', {}, async (page) => {
      await page.locator('#in-browser-proof[data-state]').waitFor({ state: 'attached' });
      const pdf = await page.pdf({ preferCSSPageSize: true });
      expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1);
      await page.emulateMedia({ media: 'print' });
      expect(await page.innerText('main')).not.toMatch(/browser/i);
    });
  });

  it('the record is black on white, with its address as text and as QR code, the ids of its stamps and no controls', async () => {
    const { address, outputs } = workflowSamples.completed;
    await visit('/workflow/completed', { colorScheme: 'dark' }, async (page) => {
      await page.emulateMedia({ media: 'print' });
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
      expect([await page.locator('.check').isVisible(), await page.getByRole('button').count()]).toEqual([false, 0]);
      const printed = await page.innerText('main');
      for (const said of [`Check this record at ${address}`, ...outputs.rows.map(({ tokenId }) => tokenId)])
        expect(printed).toContain(said);
      expect(await page.getByRole('img', { name: 'QR code of the address' }).isVisible()).toBe(true);
    });
  });
});
