import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { file as inContainer, mimetype, zipOf } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { contentOf, sha256Of } from '../support/page-samples.ts';
import { mainText, plainText } from '../support/page-text.ts';
import { samplePages } from '../support/sample-pages.ts';

const pages = await samplePages();
const { visit } = pages;

const file = (name: string, content: Buffer | string) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
const stamp = (token = 'good', name = 'report.pdf') => file(`${name}.qstamp.json`, JSON.stringify({ stamp: { token } }));
const mine = file('report.pdf', contentOf(1));
const isStamped = 'Yes: report.pdf is unchanged since 21 November 2026, 09:31 UTC.';

const text = async (path: string) => mainText((await pages.app.inject(path)).body);
/** The answer to a form that was sent without JavaScript. */
const posted = async (fields: Readonly<Record<string, string>>) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return (await pages.app.inject({ method: 'POST', url: '/verify', headers, payload: new URLSearchParams(fields).toString() })).body;
};
/** Drops files, waits for these words or this headline, and reads the page. */
const drop = async (page: Page, files: Parameters<Page['setInputFiles']>[1], says: string) => {
  await page.setInputFiles('#file', files);
  await page.getByText(says).first().waitFor();
  const read = async (selector: string) => (await page.locator(selector).allInnerTexts()).join();
  return { all: await read('main'), verdict: await read('#verdict'), results: await read('.results') };
};

describe('the page of a stamp (V8, V9)', () => {
  it('gives the verdict in a sentence, with all its reasons', async () => {
    const shown = await text('/verify/qualified');
    for (const said of [
      'This stamp is valid',
      'existed no later than 21 November 2026, 09:31:01.482 UTC, give or take 0.5 s, if you trust the provider acme-qtsa',
      'CN=Acme TSU 7,O=Acme Trust Services',
      '1.3.6.1.4.1.99999.1.2',
      'Valid from 1 January 2025, 00:00:00 UTC until 1 January 2035, 00:00:00 UTC.',
      'Not revoked, says the list of CN=Acme Time CA of 20 November 2026, 00:00:00 UTC.',
      'Whether CN=Acme Time CA was revoked: no revocation list of its issuer is available.',
      'evidence record (.ers)',
      'It must be renewed before 21 November 2031, 09:31:01 UTC.',
      'Without JavaScript: run sha256sum',
    ])
      expect(shown).toContain(said);
    // RFC 3161 §2.4.2: an accuracy only if the token states one.
    expect(mainText(await posted({ token: 'second' }))).toMatch(/existed no later than 21 November 2026, 09:31:01\.482 UTC, if you trust/);
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
    [
      'sha512',
      'This stamp is valid',
      'Not known to be qualified: it is evidence, but no court has to accept the time automatically. What this means',
    ],
    ['mock', 'This is a test stamp', 'It proves nothing to a third party'],
  ])('%s: the verdict is the headline, and nothing is called unchanged before it was compared', async (name, title, said) => {
    await visit(`/verify/${name}`, { viewport: { width: 390, height: 844 } }, async (page) => {
      const headings = await page.locator('main :is(h1, h2):visible').allInnerTexts();
      expect(headings.slice(0, 3).map((heading) => heading.trim())).toEqual([title, 'Is it your file, unchanged?', 'What was stamped']);
      expect(await page.innerText('#verdict')).toContain(said);
      expect(await page.locator('.mark:visible').allInnerTexts()).not.toContain('Not qualified');
      expect((await page.innerText('main')).replace('Is it your file, unchanged?', '')).not.toMatch(/unchanged/);
    });
  });

  const list = `<a href="/trusted-lists/${sha256Of('list')}">Luxembourg’s trusted list no. 61</a>`;
  const service = 'the service “Acme qualified time-stamps” of Acme Trust Services';
  const later =
    'On 24 December 2026, when the time-stamp is first proved to exist by more than its own word, the list has the service as withdrawn';
  it.each([
    ['qualified', `Qualified: ${service} is listed in ${list} as granted since 1 March 2019.`, true],
    ['differing', `${list} as granted since 1 March 2019. ${later} since 1 December 2026; the EU’s validation software (DSS) wants`, true],
    ['claimed', 'Claimed to be qualified: only the operator of this service says so.', false],
    ['list_expired', `Not qualified: ${list} had expired at the time of the time-stamp, and no newer list was read.`, true],
    ['not_listed', 'Not known to be qualified. None of the trusted lists that were read has the service that signed it.', false],
    ['not_granted', `Not qualified: ${list} has ${service} as withdrawn since 1 April 2026.`, false],
  ] as const)('%s: says whether it is qualified and who says so, and links to the list', async (name, sentence, isClaimedByToken) => {
    const { body } = await pages.app.inject(`/verify/${name}`);
    expect(body.replaceAll(/<\/?strong>/g, '')).toContain(sentence);
    expect(mainText(body).includes('Qualified, claimed by the operator'), 'the mark').toBe(name === 'claimed');
    expect(mainText(body).includes('The token says that it is qualified (EN 319 422).')).toBe(isClaimedByToken);
  });

  it.each(['sha512', 'ended', 'differing'])('%s: is one sheet of paper with its QR code, without a word about browsers', async (name) => {
    await visit(`/verify/${name}`, {}, async (page) => {
      expect((await page.pdf({ preferCSSPageSize: true })).toString('latin1').match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('.qr').isVisible()).toBe(true);
      const printed = await page.innerText('main');
      expect(printed).toContain('Check this stamp at https://stamps.example/');
      expect(printed).not.toMatch(/browser|JavaScript|drop|on this page/i);
    });
  });

  it.each(['qualified', 'sha512'])('%s: compares files with the imprint, in its algorithm, and sends nothing', async (name) => {
    const { result, requests } = await visit(`/verify/${name}`, {}, (page) =>
      drop(page, [mine, file('other', 'other'), stamp()], 'report.pdf.qstamp.json is a time-stamp or an evidence bundle.'),
    );
    expect(result.all).toContain(isStamped);
    expect(result.all).toMatch(/No: other is not what was stamped\.\s+Even saving a file again can change it\. Ask for the original\./);
    expect(result.all).toContain('This stamp is valid');
    expect(requests.filter((url) => !url.includes('/assets/') && !url.startsWith('data:'))).toEqual([`${pages.url}/verify/${name}`]);
  });

  it('does not mention batches if a file differs from a stamp of its own hash, and an error in one drop does not stop the next', async () => {
    await visit('/verify/batched', {}, async (page) => {
      const failed = page.waitForEvent('pageerror');
      await page.evaluate(`document.querySelector('.results').className = 'hidden-by-the-test'`);
      await page.setInputFiles('#file', file('first', 'first'));
      await failed;
      await page.evaluate(`document.querySelector('.hidden-by-the-test').className = 'results'`);
      const { verdict, results } = await drop(page, file('other', 'other'), 'No: other is not what was stamped.');
      expect(verdict + results).not.toMatch(/batch/);
    });
  });
});

describe('/verify', async () => {
  // The sample page accepts the token `good`; these are its bytes.
  const proof = { name: 'META-INF/timestamp.tst', content: Buffer.from('good', 'base64') };
  const containing = async (content: Buffer, ...more: Parameters<typeof zipOf>[0]) =>
    file('x.asics', await zipOf([mimetype, { ...inContainer, name: 'report.pdf', content, compress: true }, ...more]));
  const container = await containing(contentOf(1), proof, { ...proof, name: 'META-INF/timestamp002.tst' });

  it.each([
    ['a record', [mine, stamp()]],
    ['a token in base64', [mine, file('report.pdf.tsr', 'good')]],
    ['an ASiC-S container (EN 319 162-1)', [container]],
  ])('compares a file with its stamp in the browser, and sends only the token: %s', async (_name, files) => {
    const bodies: (string | null)[] = [];
    const { complaints } = await visit('/verify', {}, async (page) => {
      expect(await page.innerText('main')).toContain('Your file never leaves the browser. Only time-stamps are sent to us.');
      page.on('request', (request) => bodies.push(request.postData()));
      if (files.length > 1) await drop(page, files.slice(0, 1), 'report.pdf waits for its stamp');
      const { all } = await drop(page, files.slice(-1), isStamped);
      expect(all).toContain('This stamp is valid');
      if (files.length > 1) return;
      expect(all).toContain('x.asics contains report.pdf and the stamp META-INF/timestamp.tst. Only the stamp was sent to us.');
      expect(all).toContain('Not checked: META-INF/timestamp002.tst, also in the container.');
    });
    expect([bodies, complaints]).toEqual([['token=good'], []]);
  });

  it('reports a container with another file, with a bad token, and with a file that cannot be unpacked', async () => {
    const damaged = await containing(Buffer.from('longer than what it is packed into '.repeat(9)), proof);
    // The octets behind the local header of the file: a block type that deflate does not have (RFC 1951 §3.2.3).
    damaged.buffer[damaged.buffer.indexOf('report.pdf') + 'report.pdf'.length] = 0x07;
    const bad = await containing(contentOf(1), { ...proof, content: Buffer.from('bad') });
    await visit('/verify', {}, async (page) => {
      await drop(page, await containing(contentOf(2), proof), 'This file is not what was stamped');
      expect((await drop(page, bad, 'Its file was not compared.')).all).toContain('This stamp is not valid');
      await drop(page, damaged, 'Not compared. report.pdf cannot be unpacked: report.pdf is damaged.');
    });
  });

  const wrong = file('wrong.pdf', 'wrong');
  const different = /The stamp itself is valid, but for another fingerprint\. Data with the fingerprint below existed/;
  const ofBatch = /The file has changed, or this is the token of a batch: use the \.ers file\./;
  it.each([
    ['a wrong file', '/verify', [wrong, stamp()], 'This file is not what was stamped', different],
    ['a wrong file', '/verify/qualified', [wrong], 'This file is not what was stamped', different],
    ['wrong files', '/verify/qualified', [wrong, file('b', 'b')], 'None of these files is what was stamped', different],
    ['S14: the token of a batch', '/verify', [wrong, stamp('plain')], 'This file does not match this token', ofBatch],
    ['S14: with two files', '/verify', [wrong, file('b', 'b'), stamp('plain')], 'None of these files matches this token', ofBatch],
  ])('%s at %s is shown first and large, and no “valid” appears to apply to it', async (_what, path, files, headline, says) => {
    await visit(path, {}, async (page) => {
      const { verdict, results } = await drop(page, files, headline);
      expect((await page.locator('#verdict :is(h1, h2):visible').allInnerTexts()).map((heading) => heading.trim())).toEqual([headline]);
      expect(verdict).toMatch(says);
      expect(verdict).not.toContain('This stamp is valid');
      if (says === ofBatch) expect(verdict + results).not.toMatch(/different file|not what was stamped/i);
      if (says === ofBatch) expect(results).toContain('No: wrong.pdf does not match this token.');
      const right = await drop(page, path === '/verify' ? [mine, stamp()] : [mine], isStamped);
      expect(right.verdict).toContain('This stamp is valid');
      expect(right.verdict).not.toMatch(/not what was stamped|different file/);
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
          if (said.includes('Yes: ')) matches.push(document.querySelector('#verdict').dataset.digest);
        }).observe(document.querySelector('.results'), { childList: true, subtree: true });
      }`);
      await drop(page, [stamp(), file('large', 'large'), file('first.txt', contentOf(1))], 'This stamp is valid');
      await page.setInputFiles('#file', [stamp('second'), file('other.txt', 'other')]);
      await page.evaluate('release()');
      await eventually(() => page.evaluate<boolean>('matches.length > 0'));
      await page.getByText('No: other.txt is not what was stamped.').waitFor();
      return { matches: await page.evaluate<string[]>('matches'), results: await page.innerText('.results') };
    });
    expect(new Set(result.matches)).toEqual(new Set([sha256Of(contentOf(1))]));
    expect(result.results).not.toMatch(/first\.txt|large/);
  });

  it('says clearly what it cannot read, and if the service does not answer', async () => {
    await visit('/verify', {}, async (page) => {
      for (const name of ['answer.tsr', 'record.ers']) {
        const sent = page.waitForRequest((request) => request.method() === 'POST');
        await drop(page, file(name, Buffer.from([0x30, 0x03, 0xff])), 'This stamp is not valid');
        expect(new URLSearchParams((await sent).postData() ?? '').get('token')).toBe('MAP/');
      }
      for (const [name, sentence] of [
        ['cut.asics', 'is not an ASiC-S container that this page can read: it is not a zip file.'],
        [
          'many.asice',
          'is an ASiC-E container, for signatures and for several files, which this page does not read. DSS and digidoc4j do.',
        ],
        ['note.qstamp.json', 'is not a stamp that the command saved.'],
        ['note.tsq', 'is a request for a time-stamp, not a stamp.'],
      ] as const)
        await drop(page, file(name, 'x'), sentence);
      await page.route('**/verify', (route) => route.fulfill({ status: 503 }));
      await drop(page, stamp(), 'Not verified.');
    });
  });

  it('accepts a pasted token without JavaScript, and compares its hash', async () => {
    const { body: form } = await pages.app.inject('/verify');
    for (const part of ['<textarea[^>]* name="token"', '<input[^>]* name="hash"', '<form[^>]* method="post" action="/verify"'])
      expect(form).toMatch(new RegExp(part));
    const body = await posted({ token: 'good', hash: 'f'.repeat(64) });
    const answer = plainText(/<[^>]+ id="answer".*<\/main>/s.exec(body)?.[0] ?? '');
    expect(answer.trim()).toMatch(/^The hash that you gave is not what was stamped/);
    expect(answer).not.toContain('This stamp is valid');
    expect(mainText(await posted({ token: 'plain', hash: 'f'.repeat(64) }))).toMatch(ofBatch);
  });

  it.each(['good', 'second', 'plain', 'development', 'mock', 'not_proved', 'not_granted', 'refused'])(
    'gives the same verdict on %s with and without JavaScript, also if the file is another',
    async (token) => {
      /** The lines of the verdict without JavaScript, as a comparison with a file would say it. */
      const unscripted = async (hash: string) => {
        const [verdict = ''] = /<section class="verdict.*?<\/section>/s.exec(await posted({ token, hash })) ?? [];
        return linesOf(plainText(verdict).replace('The hash that you gave', 'This file'));
      };
      const linesOf = (text: string) => text.split('\n').flatMap((line) => line.trim() || []);
      const [alone, ofAnother] = [await unscripted(''), await unscripted('f'.repeat(64))];
      await visit('/verify', { timezoneId: 'UTC' }, async (page) => {
        expect(linesOf((await drop(page, [stamp(token)], String(alone[0]))).verdict)).toEqual(alone);
        const said = ofAnother[0] === alone[0] ? 'wrong.pdf waits for its stamp' : String(ofAnother[0]);
        expect(linesOf((await drop(page, [wrong, stamp(token)], said)).verdict)).toEqual(ofAnother);
      });
    },
  );

  it('says it with JavaScript too, and again for a file that is then dropped', async () => {
    await visit('/verify', { javaScriptEnabled: true }, async (page) => {
      await page.fill('#token', 'good');
      await page.fill('#hash', 'f'.repeat(64));
      await page.getByRole('button', { name: 'Verify' }).click();
      await page.getByText('The hash that you gave is not what was stamped').waitFor();
      await drop(page, file('other.txt', 'other'), 'This file is not what was stamped');
    });
  });
});
