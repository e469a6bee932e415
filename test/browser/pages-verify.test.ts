import { describe, expect, it } from 'vitest';
import { file as inContainer, mimetype, zipOf } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { contentOf, sha256Of } from '../support/page-samples.ts';
import { mainText, plainText } from '../support/page-text.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const file = (name: string, content: Buffer | string) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
const stampRecord = file('report.pdf.qstamp.json', JSON.stringify({ stamp: { token: 'good' } }));

const text = async (path: string) => mainText((await pages.app.inject(path)).body);

describe('the page of a stamp (V8, V9)', () => {
  it('gives the verdict in a sentence, with all its reasons', async () => {
    const shown = await text('/verify/qualified');
    for (const said of [
      'This stamp is valid',
      'existed no later than 21 November 2026, 09:31:01.482 UTC, give or take 0.5 s, if you trust the provider acme-qtsa',
      'to within 0.5 s',
      'CN=Acme TSU 7,O=Acme Trust Services',
      '1.3.6.1.4.1.99999.1.2',
      'trust anchor',
      'Valid from 1 January 2025, 00:00:00 UTC until 1 January 2035, 00:00:00 UTC.',
      'Not revoked, says the list of CN=Acme Time CA of 20 November 2026, 00:00:00 UTC.',
      'Whether CN=Acme Time CA was revoked: no revocation list of its issuer is available.',
      'response (.tsr)',
      'request (.tsq)',
      'token (.tst)',
      'evidence record (.ers)',
      'It must be renewed before 21 November 2031, 09:31:01 UTC.',
      'Without JavaScript: run sha256sum',
    ]) {
      expect(shown).toContain(said);
    }
  });

  it('V9, RFC 3161 §2.4.2: names an accuracy only if the token states one', async () => {
    const posted = { method: 'POST', url: '/verify', headers: { 'content-type': 'application/x-www-form-urlencoded' } } as const;
    const { body } = await pages.app.inject({ ...posted, payload: 'token=second' });
    expect(mainText(body)).toMatch(/existed no later than 21 November 2026, 09:31:01\.482 UTC, if you trust/);
  });

  it.each([
    ['refused', 'This stamp is not valid', 'record_mismatch:'],
    ['unknown', 'No such stamp', 'it proves nothing'],
    ['not_proved', 'This stamp is not proved', 'It is not proved here, for this reason:'],
  ])('claims nothing about a stamp that is %s', async (name, ...said) => {
    const shown = await text(`/verify/${name}`);
    for (const sentence of said) expect(shown).toContain(sentence);
    expect(shown).not.toMatch(/Qualified|existed no later|What was stamped/);
  });

  it.each([
    ['qualified', 'This stamp is valid', 'Qualified: the service “Acme qualified time-stamps” of Acme Trust Services is listed in'],
    ['sha512', 'This stamp is valid', 'It is evidence, but no court has to accept the time automatically (eIDAS, Article 41(2)).'],
    ['mock', 'This is a test stamp', 'It proves nothing to a third party'],
  ])(
    '%s: the verdict is the headline, then comes the file, and nothing is called unchanged before it was compared',
    async (name, title, said) => {
      const { result } = await visit(`/verify/${name}`, { viewport: { width: 390, height: 844 } }, async (page) => ({
        headings: await page.locator('main :is(h1, h2):visible').allInnerTexts(),
        verdict: await page.innerText('#verdict'),
        marks: await page.locator('.mark:visible').allInnerTexts(),
        drop: await page.evaluate<number>(`document.querySelector('.drop').getBoundingClientRect().bottom / innerHeight`),
        text: await page.innerText('main'),
      }));
      expect(result.headings.slice(0, 3).map((heading) => heading.trim())).toEqual([
        title,
        'Is it your file, unchanged?',
        'What was stamped',
      ]);
      expect(result.verdict).toContain(said);
      expect(result.marks.map((text) => text.trim())).not.toContain('Not qualified');
      expect(result.drop, 'in screens').toBeLessThan(1.5);
      expect(result.text.replace('Is it your file, unchanged?', '')).not.toMatch(/unchanged/);
    },
  );

  const list = `<a href="/trusted-lists/${sha256Of('list')}">Luxembourg’s trusted list no. 61</a>`;
  const service = 'the service “Acme qualified time-stamps” of Acme Trust Services';
  const later =
    'On 24 December 2026, when the time-stamp is first proved to exist by more than its own word, the list has the service as withdrawn';

  it.each([
    ['qualified', `Qualified: ${service} is listed in ${list} as granted since 1 March 2019.`],
    ['differing', `${list} as granted since 1 March 2019. ${later} since 1 December 2026; the EU’s validation software (DSS) wants`],
    ['claimed', 'Qualified, as claimed by the operator of this service.'],
    ['withdrawn', `Not qualified: ${list} has ${service} as withdrawn since 1 April 2026. It is evidence, but no court`],
    ['list_expired', `Not qualified: ${list} had expired at the time of the time-stamp, and no newer list was read.`],
    ['not_listed', 'Not known to be qualified. None of the trusted lists that were read has the service that signed it.'],
    ['not_granted', `Not qualified: ${list} has ${service} as withdrawn since 1 April 2026.`],
  ] as const)(
    '%s: one sentence says whether it is qualified and who says so, with a link to the list that decides',
    async (name, sentence) => {
      const { body } = await pages.app.inject(`/verify/${name}`);
      const shown = /<p class="qualification">(.*?)<\/p>/s.exec(body)?.[1]?.replaceAll(/<\/?strong>/g, '');
      expect(shown).toContain(sentence);
      expect(mainText(body).includes('Qualified, claimed by the operator'), 'the mark').toBe(name === 'claimed');
      const isClaimedByToken = mainText(body).includes('The token says that it is qualified (EN 319 422).');
      expect(isClaimedByToken).toBe(!['claimed', 'not_listed', 'not_granted'].includes(name));
    },
  );

  it.each(['qualified', 'sha512', 'batched', 'ended', 'mock', 'differing'])(
    '%s: is one sheet of paper with its QR code, without a word about browsers',
    async (name) => {
      const { result } = await visit(`/verify/${name}`, {}, async (page) => {
        const pdf = await page.pdf({ preferCSSPageSize: true });
        await page.emulateMedia({ media: 'print' });
        return { pdf: pdf.toString('latin1'), qr: await page.locator('.qr').isVisible(), text: await page.innerText('main') };
      });
      expect(result.pdf.match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
      expect(result.qr).toBe(true);
      expect(result.text).toContain('Check this stamp at https://stamps.example/');
      expect(result.text).not.toMatch(/browser|JavaScript|drop|on this page/i);
    },
  );

  it('a stamp that is dropped beside its file is not called a different file', async () => {
    const { result } = await visit('/verify/qualified', {}, async (page) => {
      await page.setInputFiles('#file', [file('report.pdf', contentOf(1)), stampRecord]);
      await page.getByText('looks like a stamp: verify it on the page Verify, with its own file.').waitFor();
      return page.innerText('main');
    });
    expect(result).toContain('Match. report.pdf is the stamped file');
    expect(result).not.toMatch(/different file/);
  });

  it('does not mention batches if a file differs from a stamp of its own hash', async () => {
    const { result } = await visit('/verify/batched', {}, async (page) => {
      await page.setInputFiles('#file', file('other', 'other'));
      await page.getByRole('heading', { name: 'This file is not what was stamped' }).waitFor();
      return page.innerText('#verdict') + (await page.innerText('.results'));
    });
    expect(result).toMatch(/different file/);
    expect(result).not.toMatch(/batch/);
  });

  it.each(['qualified', 'sha512'])('%s: compares a file with the imprint, in its algorithm, and sends nothing', async (name) => {
    const { result, requests } = await visit(`/verify/${name}`, {}, async (page) => {
      await page.setInputFiles('#file', [file('mine', contentOf(1)), file('other', 'other')]);
      await page.getByText('Not what was stamped.').waitFor();
      return page.innerText('main');
    });
    expect(result).toMatch(
      /Match\. mine is the stamped file, byte for byte\. It is unchanged since it was stamped\.\s+Not what was stamped\. other is a different file/,
    );
    expect(result).toContain('This stamp is valid');
    expect(requests.filter((url) => !url.includes('/assets/') && !url.startsWith('data:'))).toEqual([`${pages.url}/verify/${name}`]);
  });
});

describe('/verify', () => {
  it('says in short lines what it needs, with an example', async () => {
    const shown = await text('/verify');
    expect(shown).toContain('For example report.pdf and report.pdf.qstamp.json.');
    expect(shown).toContain('Your file never leaves the browser. Only time-stamps are sent to us.');
  });

  it.each([
    ['a record', stampRecord],
    ['a token in base64', file('report.pdf.tsr', 'good')],
  ])('accepts a file and its stamp in any order, and sends only the token: %s', async (_name, stampFile) => {
    const bodies: (string | null)[] = [];
    const { result } = await visit('/verify', {}, async (page) => {
      page.on('request', (request) => bodies.push(request.postData()));
      await page.setInputFiles('#file', file('report.pdf', contentOf(1)));
      await page.getByText('report.pdf waits for its stamp').waitFor();
      await page.setInputFiles('#file', stampFile);
      await page.getByText('is the stamped file').waitFor();
      const edge = await page.evaluate(`getComputedStyle(document.querySelector('#verdict')).borderLeftStyle`);
      return { answer: await page.innerText('#answer'), results: await page.innerText('.results'), edge };
    });
    expect(result.edge, 'the look of what is valid').toBe('double');
    expect(result.answer).toContain('This stamp is valid');
    expect(result.results).toContain('Match. report.pdf is the stamped file, byte for byte.');
    expect(bodies).toEqual(['token=good']);
  });

  // The sample page accepts the token `good`; these are its bytes.
  const proof = { name: 'META-INF/timestamp.tst', content: Buffer.from('good', 'base64') };
  const containing = async (content: Buffer, token = proof) =>
    file('x.asics', await zipOf([mimetype, { ...inContainer, name: 'report.pdf', content, compress: true }, token]));

  it('accepts an ASiC-S container (EN 319 162-1): its token is sent, and its file is compared in the browser', async () => {
    const container = await zipOf([
      mimetype,
      { ...inContainer, name: 'report.pdf', content: contentOf(1), compress: true },
      proof,
      { ...proof, name: 'META-INF/timestamp002.tst' },
    ]);
    const bodies: (string | null)[] = [];
    const { result, complaints } = await visit('/verify', {}, async (page) => {
      page.on('request', (request) => bodies.push(request.postData()));
      await page.setInputFiles('#file', file('x.asics', container));
      await page.getByText('is the stamped file').waitFor();
      return page.innerText('main');
    });
    expect(result).toContain('This stamp is valid');
    expect(result).toContain('Container. x.asics contains report.pdf and the stamp META-INF/timestamp.tst. Only the stamp was sent to us.');
    expect(result).toContain('Not checked: META-INF/timestamp002.tst, also in the container.');
    expect(result).toContain('Match. report.pdf is the stamped file, byte for byte.');
    expect(bodies).toEqual(['token=good']);
    expect(complaints).toEqual([]);
  });

  it('reports a container with another file, with a bad token, and with a file that cannot be unpacked', async () => {
    const damaged = await containing(Buffer.from('longer than what it is packed into '.repeat(9)));
    // The octets behind the local header of the file: a block type that deflate does not have (RFC 1951 §3.2.3).
    damaged.buffer[damaged.buffer.indexOf('report.pdf') + 'report.pdf'.length] = 0x07;
    await visit('/verify', {}, async (page) => {
      await page.setInputFiles('#file', await containing(contentOf(2)));
      await page.getByRole('heading', { name: 'This file is not what was stamped' }).waitFor();
      await page.setInputFiles('#file', await containing(contentOf(1), { ...proof, content: Buffer.from('bad') }));
      await page.getByText('Its file was not compared.').waitFor();
      await page.getByText('This stamp is not valid').waitFor();
      await page.setInputFiles('#file', damaged);
      await page.getByText('Not compared. report.pdf cannot be unpacked: report.pdf is damaged.').waitFor();
    });
  });

  it.each([
    ['/verify', [file('wrong.pdf', 'wrong'), stampRecord], 'This file is not what was stamped'],
    ['/verify/qualified', [file('wrong.pdf', 'wrong')], 'This file is not what was stamped'],
    ['/verify/qualified', [file('a', 'a'), file('b', 'b')], 'None of these files is what was stamped'],
  ])('%s: a wrong file is shown first and large, and no “valid” appears to apply to it', async (path, files, said) => {
    const { result } = await visit(path, {}, async (page) => {
      await page.setInputFiles('#file', files);
      await page.getByRole('heading', { name: said }).waitFor();
      const headings = await page.locator('#verdict :is(h1, h2):visible').allInnerTexts();
      const wrong = await page.innerText('#verdict');
      await page.setInputFiles('#file', file('mine', contentOf(1)));
      if (path === '/verify') await page.setInputFiles('#file', stampRecord);
      await page.getByRole('heading', { name: 'This stamp is valid' }).waitFor();
      return { headings, wrong, right: await page.innerText('#verdict') };
    });
    expect(result.headings.map((heading) => heading.trim())).toEqual([said]);
    expect(result.wrong).not.toContain('This stamp is valid');
    expect(result.wrong).toMatch(/The stamp itself is valid, but for another fingerprint\. Data with the fingerprint below existed/);
    expect(result.right).not.toMatch(/not what was stamped|different file/);
  });

  it.each([
    [[file('mine', 'other')], 'This file does not match this token'],
    [[file('a', 'a'), file('b', 'b')], 'None of these files matches this token'],
  ])('S14: if a plain token is for another hash, the file is not rejected alone: the token may be that of a batch', async (files, said) => {
    const { result } = await visit('/verify', {}, async (page) => {
      await page.setInputFiles('#file', [...files, file('stamp.qstamp.json', JSON.stringify({ stamp: { token: 'plain' } }))]);
      await page.getByRole('heading', { name: said }).waitFor();
      return { verdict: await page.innerText('#verdict'), results: await page.innerText('.results') };
    });
    expect(result.verdict).toContain('The file has changed, or this is the token of a batch: use the .ers file.');
    for (const { name } of files)
      expect(result.results).toContain(`${name} has changed, or this is the token of a batch: use the .ers file.`);
    expect(result.verdict + result.results).not.toMatch(/different file|not what was stamped/i);
  });

  it.each(['answer.tsr', 'record.ers'])('sends the bytes of %s, and says what is wrong with the file', async (name) => {
    await visit('/verify', {}, async (page) => {
      const sent = page.waitForRequest((request) => request.method() === 'POST');
      await page.setInputFiles('#file', file(name, Buffer.from([0x30, 0x03, 0xff])));
      expect(new URLSearchParams((await sent).postData() ?? '').get('token')).toBe('MAP/');
      await page.getByText('This stamp is not valid').waitFor();
    });
  });

  it('handles drops in order: no file is called the content of a stamp that was dropped later', async () => {
    const { result } = await visit('/verify', {}, async (page) => {
      // Every message about a match, with the hash of the verdict beside it; and a file that is read only when the test says so.
      await page.evaluate(`{
        const stream = Blob.prototype.stream;
        const held = new Promise((resolve) => { globalThis.release = resolve; });
        Blob.prototype.stream = async function () {
          if (this.name === 'large') await held;
          return stream.call(this);
        };
        globalThis.matches = [];
        new MutationObserver(() => {
          const said = document.querySelector('.results').innerText;
          if (said.includes('Match.')) matches.push(document.querySelector('#verdict').dataset.digest);
        }).observe(document.querySelector('.results'), { childList: true, subtree: true });
      }`);
      await page.setInputFiles('#file', [stampRecord, file('large', 'large'), file('first.txt', contentOf(1))]);
      await page.getByRole('heading', { name: 'This stamp is valid' }).waitFor();
      const second = file('second.qstamp.json', JSON.stringify({ stamp: { token: 'second' } }));
      await page.setInputFiles('#file', [second, file('other.txt', 'other')]);
      await page.evaluate('release()');
      await eventually(() => page.evaluate<boolean>('matches.length > 0'));
      await page.getByText('other.txt is a different file').waitFor();
      return { matches: await page.evaluate<string[]>('matches'), results: await page.innerText('.results') };
    });
    expect(new Set(result.matches)).toEqual(new Set([sha256Of(contentOf(1))]));
    expect(result.results).not.toMatch(/first\.txt|large/);
  });

  it('an error in one drop does not stop the next', async () => {
    await visit('/verify/qualified', {}, async (page) => {
      const failed = page.waitForEvent('pageerror');
      await page.evaluate(`document.querySelector('.results').className = 'hidden-by-the-test'`);
      await page.setInputFiles('#file', file('first', 'first'));
      await failed;
      await page.evaluate(`document.querySelector('.hidden-by-the-test').className = 'results'`);
      await page.setInputFiles('#file', file('mine', contentOf(1)));
      await page.getByText('mine is the stamped file').waitFor();
    });
  });

  it('says clearly what it cannot read', async () => {
    await visit('/verify', {}, async (page) => {
      for (const [name, sentence] of [
        ['cut.asics', 'is not an ASiC-S container that this page can read: it is not a zip file.'],
        [
          'many.asice',
          'is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.',
        ],
        ['note.qstamp.json', 'is not a stamp that the command saved.'],
        ['note.tsq', 'is a request for a time-stamp, not a stamp.'],
      ] as const) {
        await page.setInputFiles('#file', file(name, 'x'));
        await page.getByText(sentence).waitFor();
      }
    });
  });

  it('says so if the service does not answer', async () => {
    await visit('/verify', {}, async (page) => {
      await page.route('**/verify', (route) => route.fulfill({ status: 503 }));
      await page.setInputFiles('#file', stampRecord);
      await page.getByText('Not verified.').waitFor();
    });
  });

  it('accepts a pasted token without JavaScript', async () => {
    const { body: form } = await pages.app.inject('/verify');
    for (const field of ['<textarea[^>]* name="token"', '<input[^>]* name="hash"']) expect(form).toMatch(new RegExp(field));
    expect(form).toMatch(/<form[^>]* method="post" action="\/verify"/);
    const { body } = await pages.app.inject({
      method: 'POST',
      url: '/verify',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ token: 'good', hash: 'f'.repeat(64) }).toString(),
    });
    const answer = plainText(/<[^>]+ id="answer".*<\/main>/s.exec(body)?.[0] ?? '');
    expect(answer.trim()).toMatch(/^The hash that you gave is not what was stamped/);
    expect(answer).not.toContain('This stamp is valid');
  });

  it('says it again for a file that is then dropped', async () => {
    await visit('/verify', { javaScriptEnabled: true }, async (page) => {
      await page.fill('#token', 'good');
      await page.fill('#hash', 'f'.repeat(64));
      await page.getByRole('button', { name: 'Verify' }).click();
      await page.getByText('The hash that you gave is not what was stamped').waitFor();
      await page.setInputFiles('#file', { name: 'other.txt', mimeType: 'text/plain', buffer: Buffer.from('other') });
      await page.getByRole('heading', { name: 'This file is not what was stamped' }).waitFor();
    });
  });
});
