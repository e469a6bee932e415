import { createHash, createSecretKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readableFingerprint } from '../../../src/cli/anchors.ts';
import { trustAdd } from '../../../src/cli/commands/trust-add.ts';
import { verify } from '../../../src/cli/commands/verify.ts';
import { issueMockToken } from '../../../src/shared/domain/mock-token.ts';
import { issueResponse, OID, type SigningIdentity } from '../../../src/shared/rfc3161/index.ts';
import { extendedKeyUsage, issueCrl, pem } from '../../../src/tsa/certificate.ts';
import { createPki, issueIntermediate, issueSigner } from '../../../src/tsa/pki.ts';
import { folderWith, sendJson, startStub } from '../../support/cli-in-process.ts';
import { ask } from '../../support/tsa-lab.ts';

const hourMs = 3_600_000;
/** Years ago, so that whatever ran out since then ran out long ago. */
const genTimeMs = Date.UTC(2024, 1, 29, 12);
const genTime = '2024-02-29T12:00:00Z';
/** The names of the development TSA. */
const named = (name: string) => `CN=${name},O=qstamp development`;
const pki = createPki({ nowMs: genTimeMs - 24 * hourMs });
const stranger = createPki({ nowMs: genTimeMs - 24 * hourMs });
const fingerprintOf = (der: Buffer) => createHash('sha256').update(der).digest('hex');
const digestOf = (content: string, hash: 'sha256' | 'sha512' = 'sha256') => createHash(hash).update(content).digest();

interface AnswerOptions {
  readonly hash?: 'sha256' | 'sha512';
  readonly identity?: SigningIdentity;
  readonly atMs?: number;
}

/** What the TSA answers about this content. */
function answerFor(content: string, { hash = 'sha256', identity = pki.signer, atMs = genTimeMs }: AnswerOptions = {}): Buffer {
  const asked = ask({ hash, digest: digestOf(content, hash), nonce: undefined });
  return issueResponse({ identity, policies: ['2.999.1'], accuracy: { seconds: 1 } }, asked.der, { timeMs: atMs, serial: 1n });
}

const tokenId = '01890a5d-ac96-774b-bcce-b302099a8057';
const verifyUrl = `/api/v1/verify/v1/token/${tokenId}`;

/** What a service that can be believed in nothing saved beside a file. */
const recordOf = (content: string, token: string) =>
  JSON.stringify({
    qstamp: 1,
    kind: 'stamp',
    file: 'a',
    bytes: content.length,
    sha256: digestOf(content).toString('hex'),
    service: 'http://127.0.0.1:9',
    stamp: {
      token_id: tokenId,
      issued_at: '2001-01-01T00:00:00Z',
      content_sha256: digestOf(content).toString('hex'),
      token,
      tier: 'basic',
      tsp_provider: 'acme',
      is_qualified: true,
      verify_url: verifyUrl,
      sealed_storage_url: null,
    },
  });

const mockKey = createSecretKey(Buffer.alloc(32, 1));
const mockToken = (content: string) =>
  issueMockToken(mockKey, { tokenId, hash: digestOf(content).toString('hex'), timeMs: genTimeMs, tier: 'basic' });

function folder(token: string, files: Record<string, string | Uint8Array> = {}, stamped = 'a') {
  const all = { a: 'a', 'a.qstamp.json': recordOf(stamped, token), 'root.pem': pki.rootPem, 'other.pem': stranger.rootPem, ...files };
  return folderWith([verify, trustAdd], all);
}
const tokenOf = (content: string, options: AnswerOptions = {}) => answerFor(content, options).toString('base64');

/** The one result of a command with `--json`. */
const only = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout);

describe('by itself, where nobody listens', () => {
  test('valid by an anchor that is named, at genTime and with what was not checked', async () => {
    const { run } = folder(tokenOf('a'));
    const { code, stdout, stderr } = await run(['verify', '--ca', 'root.pem', 'a']);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n  ');
    expect(lines[0]).toBe(`a: valid, existed at ${genTime}`);
    expect(lines[1]).toBe(`signed by ${named('Development TSA')}, policy 2.999.1, accurate to 1 s`);
    expect(lines[2]).toBe(`trust anchor ${named('Root CA')}, SHA-256 ${readableFingerprint(fingerprintOf(pki.root.certificate))}`);
    const unchecked = ['Development TSA', 'Time-Stamping CA'].map((name) => `whether ${named(name)} was revoked`);
    expect(lines.slice(3)).toEqual([`not checked: ${unchecked.join('; ')}\n`]);
  });

  test('by an anchor that is kept; --ca takes the place of all that are', async () => {
    const { run } = folder(tokenOf('a'));
    expect((await run(['trust', 'add', '--yes', 'root.pem'])).code).toBe(0);
    expect((await run(['verify', 'a'])).code).toBe(0);
    expect(only(await run(['verify', '--json', '--ca', 'other.pem', 'a'])).verdict).toBe('not_proved');
  });

  test('--json: one line with everything that was proved', async () => {
    const { run } = folder(tokenOf('a'));
    const outcome = await run(['verify', '--json', '--ca', 'root.pem', 'a']);
    expect(only(outcome)).toMatchObject({
      subject: 'a',
      verdict: 'valid',
      valid: true,
      reason: null,
      issued_at: genTime,
      claimed_at: null,
      imprint: { algorithm: 'sha256', digest: digestOf('a').toString('hex') },
      content_sha256: digestOf('a').toString('hex'),
      signer: { subject: named('Development TSA'), issuer: named('Time-Stamping CA'), sha256: fingerprintOf(pki.signer.certificate) },
      policy: '2.999.1',
      accuracy_seconds: 1,
      trust_anchor: { subject: named('Root CA'), sha256: fingerprintOf(pki.root.certificate) },
      chain_ends_at: null,
    });
    expect(outcome.stdout.trim()).not.toContain('\n');
  });

  test('V9: without an anchor it is not proved: 1, with the fingerprint to compare and no claim', async () => {
    const { run } = folder(tokenOf('a'));
    const { code, stdout } = await run(['verify', 'a']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^a: NOT PROVED, trust_store_empty: /);
    expect(stdout).toContain(`it says: this content existed at ${genTime}`);
    expect(stdout).toContain(`its chain ends at ${named('Time-Stamping CA')}, issued by ${named('Root CA')}`);
    expect(stdout).toContain(`SHA-256 ${readableFingerprint(fingerprintOf(pki.intermediate.certificate))}`);
    expect(stdout).not.toMatch(/: valid|qualified|acme/);
    expect(only(await run(['verify', '--json', 'a']))).toMatchObject({
      verdict: 'not_proved',
      valid: false,
      issued_at: null,
      claimed_at: genTime,
      trust_anchor: null,
      chain_ends_at: { sha256: fingerprintOf(pki.intermediate.certificate) },
    });
  });

  test('a token whose chain comes with its root leads to that root', async () => {
    const identity = { ...pki.signer, chain: [pki.intermediate.certificate, pki.root.certificate] };
    const { run } = folder(tokenOf('a', { identity }));
    const { stdout } = await run(['verify', '--ca', 'other.pem', 'a']);
    expect(stdout).toMatch(/^a: NOT PROVED, untrusted_root: /);
    expect(stdout).toContain(`its chain leads to ${named('Root CA')}\n`);
    expect(stdout).toContain(`SHA-256 ${readableFingerprint(fingerprintOf(pki.root.certificate))}`);
  });

  test('--intermediate: what the token did not bring along, without being trusted for it', async () => {
    const identity = { ...pki.signer, chain: [] };
    const { run } = folder(tokenOf('a', { identity }), { 'ca.der': pki.intermediate.certificate });
    const judge = async (...options: string[]) => only(await run(['verify', '--json', 'a', ...options])).verdict;
    expect(await judge('--ca', 'root.pem')).toBe('not_proved');
    expect(await judge('--intermediate', 'ca.der')).toBe('not_proved');
    expect(await judge('--ca', 'root.pem', '--intermediate', 'ca.der')).toBe('valid');
  });

  test('a chain of its own that is not in order: another anchor may still vouch for the signer', async () => {
    const ca = issueIntermediate(pki.root, {
      algorithm: 'p-256',
      nowMs: genTimeMs - hourMs,
      extensions: [extendedKeyUsage([OID.codeSigning])],
    });
    const signer = issueSigner(ca, { nowMs: genTimeMs - hourMs });
    const { run } = folder(tokenOf('a', { identity: signer }), {
      'both.pem': pem('CERTIFICATE', signer.certificate) + pem('CERTIFICATE', ca.certificate),
    });
    expect(only(await run(['verify', '--json', 'a']))).toMatchObject({
      verdict: 'not_proved',
      chain_ends_at: { sha256: fingerprintOf(signer.certificate) },
    });
    expect(only(await run(['verify', '--json', '--ca', 'both.pem', 'a'])).verdict).toBe('valid');
    expect(only(await run(['verify', '--json', '--ca', 'root.pem', 'a']))).toMatchObject({
      verdict: 'not_valid',
      reason: expect.stringMatching(/^intermediate_eku: /),
    });
  });

  test('a forged signature is not valid, whomever one trusts', async () => {
    const bytes = answerFor('a');
    bytes[bytes.length - 1]! ^= 1;
    const { run } = folder(bytes.toString('base64'));
    for (const options of [[], ['--ca', 'root.pem']]) {
      expect(only(await run(['verify', '--json', 'a', ...options]))).toMatchObject({
        verdict: 'not_valid',
        reason: expect.stringMatching(/^signature_invalid: /),
        claimed_at: null,
      });
    }
  });

  test('a record that was changed by hand changes nothing: the file is digested anew, the time is the token’s', async () => {
    const { run } = folder(tokenOf('a'), {}, 'forged');
    expect((await run(['verify', 'a', '--ca', 'root.pem'])).stdout).toContain(`existed at ${genTime}`);
    const forged = folder(tokenOf('a'), { a: 'forged' }, 'forged');
    expect((await forged.run(['verify', 'a', '--ca', 'root.pem'])).stdout).toMatch(/^a: NOT VALID, imprint_mismatch: /);
  });

  test.each([['--ca', 'root.pem'], []])('a changed file is said to have changed since when: %s', async (...options) => {
    const { run, path } = folder(tokenOf('a'));
    writeFileSync(path('a'), 'b');
    const { code, stdout } = await run(['verify', 'a', ...options]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, imprint_mismatch: /)]);
    expect(stdout).toContain(`the file has changed since it was stamped at ${genTime}, or is another one`);
  });

  test('V5: a certificate that has expired since does no harm; one that had expired before does', async () => {
    const identity = issueSigner(pki.intermediate, { nowMs: genTimeMs - hourMs, notAfterMs: genTimeMs + hourMs });
    const { run } = folder(tokenOf('a', { identity }));
    expect((await run(['verify', '--ca', 'root.pem', 'a'])).code).toBe(0);
    const late = folder(tokenOf('a', { identity, atMs: genTimeMs + 2 * hourMs }));
    expect(only(await late.run(['verify', '--json', '--ca', 'root.pem', 'a']))).toMatchObject({
      verdict: 'not_valid',
      reason: expect.stringMatching(/^certificate_not_valid_at_gen_time: /),
    });
  });

  test('--crl: a revoked signer is refused; only lists that are newer than the stamp tell that one was not', async () => {
    const period = { number: 1n, thisUpdateMs: genTimeMs + hourMs, nextUpdateMs: genTimeMs + 2 * hourMs };
    const revoked = [{ serialNumber: pki.signer.serialNumber, revokedAtMs: genTimeMs - hourMs }];
    const { run } = folder(tokenOf('a'), {
      'revoked.crl': issueCrl({ ...period, revoked }, pki.intermediate),
      'ca.crl': issueCrl({ ...period, revoked: [] }, pki.intermediate),
      'root.crl': pem('X509 CRL', issueCrl({ ...period, revoked: [] }, pki.root)),
      'old.crl': issueCrl({ ...period, thisUpdateMs: genTimeMs - hourMs, revoked: [] }, pki.intermediate),
      'strange.crl': issueCrl({ ...period, revoked: [] }, stranger.intermediate),
    });
    const judge = async (...lists: string[]) =>
      only(await run(['verify', '--json', '--ca', 'root.pem', 'a', ...lists.flatMap((list) => ['--crl', list])]));
    expect(await judge('revoked.crl')).toMatchObject({ verdict: 'not_valid', reason: expect.stringMatching(/^certificate_revoked: /) });
    expect(await judge('ca.crl', 'root.crl')).toMatchObject({ verdict: 'valid', not_checked: [] });
    const signerUnchecked = `whether ${named('Development TSA')} was revoked`;
    expect((await judge('old.crl', 'root.crl')).not_checked).toEqual([signerUnchecked]);
    expect((await judge('strange.crl', 'root.crl')).not_checked).toEqual([signerUnchecked]);
  });

  test('the imprint’s own algorithm is computed', async () => {
    const { run } = folderWith([verify], { a: 'a', 'a.tsr': answerFor('a', { hash: 'sha512' }), 'root.pem': pki.rootPem });
    expect(only(await run(['verify', '--json', '--ca', 'root.pem', 'a']))).toMatchObject({
      verdict: 'valid',
      imprint: { algorithm: 'sha512', digest: digestOf('a', 'sha512').toString('hex') },
      content_sha256: null,
    });
  });

  test('a token beside a file, named, in base64, or alone', async () => {
    const answer = answerFor('a');
    const base64 = answer.toString('base64');
    const files = { a: 'a', 'a.tsr': answer, 'b.txt': 'b', 'token.b64': `${base64}\n`, 'root.pem': pki.rootPem };
    const { run } = folderWith([verify], files);
    const first = async (...line: string[]) => (await run(['verify', '--ca', 'root.pem', ...line])).stdout.split('\n')[0];
    expect(await first('a')).toBe(`a: valid, existed at ${genTime}`);
    expect(await first('a.tsr')).toBe(`a.tsr: valid, existed at ${genTime}`);
    expect(await first('a', '--token', 'token.b64')).toBe(`a: valid, existed at ${genTime}`);
    expect(await first('b.txt', '--token', base64)).toMatch(/^b.txt: NOT VALID, imprint_mismatch: /);
    const { stdout } = await run(['verify', '--ca', 'root.pem', base64]);
    expect(stdout).toContain(`: valid, content with the SHA-256 ${digestOf('a').toString('hex')} existed at ${genTime}\n`);
    expect(stdout).toContain('not checked: a file: only the token was judged');
  });

  test('V6: a token in BER, cut out of a stranger’s document, with the certificates that it did not bring along', async () => {
    const read = (name: string) => readFileSync(new URL(`../../fixtures/real-tokens/t/1a17295b84f874d7${name}`, import.meta.url));
    const { run } = folderWith([verify], { 'a.tst': read('.tst'), 'root.pem': read('-anchor.pem'), 'ca.pem': read('-inter.pem') });
    const outcome = await run(['verify', '--json', 'a.tst', '--ca', 'root.pem', '--intermediate', 'ca.pem']);
    expect(only(outcome)).toMatchObject({ verdict: 'valid', imprint: { algorithm: 'sha512' }, issued_at: '2024-09-13T11:20:02Z' });
  });

  test('standard input, by the record that was saved for it', async () => {
    const { run } = folder(tokenOf('a'));
    const line = ['verify', '-', '--token', 'a.qstamp.json', '--ca', 'root.pem'];
    expect((await run(line, { stdin: 'a' })).stdout).toContain(`-: valid, existed at ${genTime}`);
    expect((await run(line, { stdin: 'b' })).code).toBe(1);
  });

  test('a mock token is proof to nobody: not proved, and of a changed file not valid', async () => {
    const { run, path } = folder(mockToken('a'));
    const { code, stdout } = await run(['verify', '--ca', 'root.pem', 'a']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT PROVED, mock_not_rfc3161: .*\n {2}.*proves nothing to anybody/)]);
    expect(stdout).not.toContain('existed');
    writeFileSync(path('a'), 'b');
    expect((await run(['verify', 'a'])).stdout).toMatch(/^a: NOT VALID, imprint_mismatch: /);
  });

  test.each(['AAAA'.repeat(20), Buffer.from('{"valid":true}'.repeat(5)).toString('base64')])(
    'V4: rubbish is not valid, with a reason: %s',
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

  test('a certificate whose name cannot be read is judged and told like any other', async () => {
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
    ['lonely', 'lonely: there is no stamp beside it (lonely.qstamp.json)'],
    ['gone.qstamp.json', 'gone.qstamp.json: the stamped file is not beside it (gone)'],
    ['bad', 'bad: bad.qstamp.json is no stamp that this command saved'],
  ])('what cannot be read is 5, in a sentence: %s', async (subject, sentence) => {
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
  ])('%s %s is told by name: 5', async (option, file, sentence) => {
    const { run } = folder(tokenOf('a'));
    expect(await run(['verify', 'a', option, file])).toMatchObject({ code: 5, stderr: `qstamp: ${sentence}\n` });
  });

  test('an id is known to the service only: 2', async () => {
    expect(await folder(tokenOf('a')).run(['verify', tokenId])).toMatchObject({ code: 2, stderr: expect.stringContaining('--online') });
  });
});

describe('--online', () => {
  const lie = (valid: boolean, reason: string | null = null) => ({
    valid,
    token_id: tokenId,
    issued_at: '2001-01-01T00:00:00Z',
    content_sha256: digestOf('b').toString('hex'),
    tsp_provider: 'acme\na: valid',
    is_qualified: true,
    reason,
  });
  const startLiar = (valid: boolean) => startStub((response) => sendJson(response, 200, lie(valid, valid ? null : 'x: y.')));

  test('V9: a service that always says valid makes nothing valid', async () => {
    const { url } = await startLiar(true);
    const cases = [
      [folder(tokenOf('a')), 'not_proved'],
      [folder(mockToken('a')), 'not_proved'],
      [folder(tokenOf('b')), 'not_valid'],
      [folder('AAAA'.repeat(20)), 'not_valid'],
    ] as const;
    for (const [{ run }, verdict] of cases) {
      const outcome = await run(['verify', '--online', '--json', 'a'], { url });
      expect(outcome.code).toBe(1);
      expect(only(outcome)).toMatchObject({ verdict, valid: false, issued_at: null, online: { valid: true } });
    }
    const { stdout } = await folder(mockToken('a')).run(['verify', '--online', 'a'], { url });
    expect(stdout).toContain('the service says: valid, existed at 2001-01-01T00:00:00Z (acme a: valid, qualified), which proves nothing\n');
  });

  test('is asked for the token with the file’s own digest, and both are told', async () => {
    const { url, seen } = await startLiar(true);
    const token = tokenOf('a');
    const { run } = folder(token);
    const { code, stdout } = await run(['verify', '--online', '--ca', 'root.pem', 'a'], { url });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^a: valid, existed at 2024[\s\S]*the service says: valid, existed at 2001/)]);
    expect(seen.map(({ line, body }) => [line, JSON.parse(body)])).toEqual([
      ['POST /api/v1/verify/v1/raw', { token, hash: digestOf('a').toString('hex') }],
    ]);
  });

  test('a service that says otherwise, or nothing, is not passed over', async () => {
    const { run } = folder(tokenOf('a'));
    const line = ['verify', '--online', '--json', '--ca', 'root.pem', 'a'];
    const denied = await run(line, { url: (await startLiar(false)).url });
    expect([denied.code, only(denied)]).toEqual([1, expect.objectContaining({ verdict: 'valid', online: lie(false, 'x: y.') })]);
    const silent = await run(line);
    expect([silent.code, only(silent)]).toEqual([
      4,
      expect.objectContaining({ verdict: 'valid', online: { error: { message: expect.stringContaining('cannot be reached') } } }),
    ]);
  });

  test('the token of an id is fetched and judged here; of one without a token nothing is proved', async () => {
    const answers = (token: Buffer | undefined) =>
      startStub((response, { line }) => {
        if (!line.endsWith('/token')) sendJson(response, 200, lie(true));
        else if (token) response.writeHead(200, { 'content-type': 'application/timestamp-token' }).end(token);
        else sendJson(response, 404, { detail: 'None.' });
      });
    const { run } = folder(tokenOf('a'));
    const judge = async (token: Buffer | undefined) =>
      only(await run(['verify', '--online', '--json', '--ca', 'root.pem', tokenId], { url: (await answers(token)).url }));
    expect(await judge(answerFor('a'))).toMatchObject({ verdict: 'valid', issued_at: genTime, token_id: tokenId });
    expect(await judge(undefined)).toMatchObject({ verdict: 'not_proved', reason: expect.stringMatching(/^no_token: /) });
  });
});
