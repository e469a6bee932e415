import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { verify } from '../../src/cli/commands/verify.ts';
import { folderWith } from '../support/cli-in-process.ts';
import { answerFor, digestOf, folder, mockToken, only, pki, recordOf, shownTime, tokenId, tokenOf } from '../support/cli-verify-lab.ts';

describe('verification without the service', () => {
  test('a token beside a file, named, in base64, or alone', async () => {
    const answer = answerFor('a');
    const base64 = answer.toString('base64');
    const files = { a: 'a', 'a.tsr': answer, 'b.txt': 'b', 'token.b64': `${base64}\n`, 'root.pem': pki.rootPem };
    const { run } = folderWith([verify], files);
    const first = async (...line: string[]) => (await run(['verify', '--ca', 'root.pem', ...line])).stdout.split('\n')[0];
    expect(await first('a')).toBe(`a: valid, existed at ${shownTime}`);
    expect(await first('a.tsr')).toBe(`a (by a.tsr): valid, existed at ${shownTime}`);
    expect(await first('a', '--token', 'token.b64')).toBe(`a: valid, existed at ${shownTime}`);
    expect(await first('b.txt', '--token', base64)).toMatch(/^b.txt: NOT VALID, imprint_mismatch: /);
    const { stdout } = await run(['verify', '--ca', 'root.pem', base64]);
    expect(stdout).toContain(`: valid, content with the SHA-256 ${digestOf('a').toString('hex')} existed at ${shownTime}\n`);
    expect(stdout).toContain('not checked: a file: only the token was verified');
  });

  test('a byte order mark in a file that people may have edited is ignored', async () => {
    const mark = '\uFEFF';
    const files = {
      'token.b64': `${mark}${tokenOf('a')}\n`,
      'a.qstamp.json': `${mark}${recordOf('a', tokenOf('a'))}`,
      'root.pem': mark + pki.rootPem,
    };
    const { run } = folder(tokenOf('a'), files);
    for (const line of [['a'], ['a', '--token', 'token.b64']])
      expect((await run(['verify', '--ca', 'root.pem', ...line])).stdout).toMatch(/^a: valid, /);
  });

  test('V6: a BER token from a foreign document, with the certificates that it lacks', async () => {
    const read = (name: string) => readFileSync(new URL(`../fixtures/real-tokens/t/1a17295b84f874d7${name}`, import.meta.url));
    const { run } = folderWith([verify], { 'a.tst': read('.tst'), 'root.pem': read('-anchor.pem'), 'ca.pem': read('-inter.pem') });
    const outcome = await run(['verify', '--json', 'a.tst', '--ca', 'root.pem', '--intermediate', 'ca.pem']);
    expect(only(outcome)).toMatchObject({ verdict: 'valid', imprint: { algorithm: 'sha512' }, issued_at: '2024-09-13T11:20:02Z' });
  });

  test('standard input, by the stamp file saved for it', async () => {
    const { run } = folder(tokenOf('a'));
    const line = ['verify', '-', '--token', 'a.qstamp.json', '--ca', 'root.pem'];
    expect((await run(line, { stdin: 'a' })).stdout).toContain(`-: valid, existed at ${shownTime}`);
    expect((await run(line, { stdin: 'b' })).code).toBe(1);
  });

  test('a mock token proves nothing: not proved, and not valid for a changed file', async () => {
    const { run, path } = folder(mockToken('a'));
    const { code, stdout } = await run(['verify', '--ca', 'root.pem', 'a']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT PROVED, mock_not_rfc3161: .*\n {2}only its own service can verify/)]);
    expect(stdout).not.toContain('existed');
    writeFileSync(path('a'), 'b');
    expect((await run(['verify', 'a'])).stdout).toMatch(
      /^a: NOT VALID, imprint_mismatch: .*\n {2}the file has changed since it was stamped at 2001\S*, as its record says, or is a different file/,
    );
  });

  test.each(['AAAA'.repeat(20), Buffer.from('{"valid":true}'.repeat(5)).toString('base64')])(
    'V4: garbage is not valid, with a reason: %s',
    async (rubbish) => {
      const { run } = folder(rubbish);
      for (const subject of ['a', rubbish]) {
        expect(only(await run(['verify', '--json', subject]))).toMatchObject({
          verdict: 'not_valid',
          reason: expect.stringMatching(/^[a-z0-9_]+: /),
        });
      }
    },
  );

  test('a certificate with an unreadable name is judged and shown like any other', async () => {
    const answer = answerFor('a');
    const commonName = Buffer.from('0603550403', 'hex');
    const places: number[] = [];
    for (let at = answer.indexOf(commonName); at >= 0; at = answer.indexOf(commonName, at + 1)) places.push(at);
    expect(places.length).toBeGreaterThan(4);
    for (const at of places) {
      const bent = Buffer.from(answer);
      bent[at] = 0x0c;
      const { run } = folder(bent.toString('base64'));
      expect(await run(['verify', 'a'])).toMatchObject({ code: 1, stdout: expect.stringMatching(/^a: NOT (VALID|PROVED), /), stderr: '' });
    }
  });

  test.each([
    ['missing', 'missing: there is no such file, and this is neither an id nor a token'],
    [
      'Minutes of the quarterly meeting of the whole board in London a',
      'Minutes of the quarterly meeting of the whole board in London a: there is no such file, and this is neither an id nor a token',
    ],
    ['lonely', 'lonely: there is no stamp beside it (lonely.qstamp.json); "qstamp stamp FILE" makes one, --token names another'],
    ['gone.qstamp.json', 'gone.qstamp.json: the stamped file is not beside it (gone)'],
    ['bad', 'bad: bad.qstamp.json is damaged, or is not a stamp; use a copy, or stamp again with --force'],
  ])('an unreadable file gives exit code 5 and a sentence: %s', async (subject, sentence) => {
    const { run } = folder(tokenOf('a'), {
      lonely: 'a',
      'gone.qstamp.json': recordOf('a', tokenOf('a')),
      bad: 'a',
      'bad.qstamp.json': '{}',
    });
    expect(await run(['verify', subject])).toMatchObject({ code: 5, stdout: '', stderr: `${sentence}\n` });
  });

  test.each([
    ['--ca', 'a', 'a: A trust anchor is neither PEM nor DER.'],
    ['--ca', 'missing', 'missing: there is no such file'],
    ['--crl', 'a', 'a: A revocation list is neither PEM nor DER.'],
  ])('%s %s is named in the error: exit code 5', async (option, file, sentence) => {
    const { run } = folder(tokenOf('a'));
    expect(await run(['verify', 'a', option, file])).toMatchObject({ code: 5, stderr: `qstamp: ${sentence}\n` });
  });

  test('an id needs the service: exit code 2', async () => {
    expect(await folder(tokenOf('a')).run(['verify', tokenId])).toMatchObject({ code: 2, stderr: expect.stringContaining('--online') });
  });
});
