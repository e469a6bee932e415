import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { readableFingerprint } from '../../src/cli/anchors.ts';
import { objectIdentifier, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { issueCrl, issueSigner } from '../support/certificates.ts';
import * as cli from '../support/cli.ts';
import { answerFor, folder, genTime, genTimeMs, hourMs, pki, shownTime, tokenId, tokenOf } from '../support/cli.ts';
import { scheme } from '../support/signature-lab.ts';

/** `qstamp verify` of stamps, without the service. */

const named = (name: string) => `CN=${name},O=qstamp development`;
const sha256 = (der: Buffer) => createHash('sha256').update(der).digest('hex');
const shownSha256 = (der: Buffer) => `SHA-256 ${readableFingerprint(sha256(der))}`;
const digest = cli.digestOf('a').toString('hex');

const run = (line: string, token = tokenOf('a'), files: cli.Files = {}, stdin = '') =>
  folder(token, files).run(['verify', ...line.split(' ')], { stdin });
const judge = async (line: string, token?: string, files?: cli.Files) => {
  const outcome = await run(`--json ${line}`, token, files);
  return { code: outcome.code, ...cli.only(outcome) };
};

test('valid by a named anchor, with the time of the token and what was not checked', async () => {
  const why = 'no revocation list of its issuer is available';
  const unchecked = ['Development TSA', 'Time-Stamping CA'].map((name) => `whether ${named(name)} was revoked: ${why}`);
  expect(await run('--ca root.pem a')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: [
      `a: valid, existed at ${shownTime}`,
      `signed by ${named('Development TSA')}, policy 2.999.1, accurate to 1 s`,
      `trust anchor ${named('Root CA')}, ${shownSha256(pki.root.certificate)}`,
      `not checked: ${unchecked.join('; ')}\n`,
    ].join('\n  '),
  });
});

test('--json: one line with all proved facts, by a kept anchor; --ca replaces all kept anchors', async () => {
  const { run } = folder(tokenOf('a'));
  expect((await run(['trust', 'add', '--yes', 'root.pem'])).code).toBe(0);
  const outcome = await run(['verify', '--json', 'a']);
  expect(outcome.stdout).toMatch(/^.*\n$/);
  expect({ code: outcome.code, ...cli.only(outcome) }).toMatchObject({
    code: 0,
    file: 'a',
    verdict: 'valid',
    valid: true,
    reason: null,
    issued_at: genTime,
    claimed_at: null,
    imprint: { algorithm: 'sha256', digest },
    content_sha256: digest,
    token_id: null,
    claimed_token_id: tokenId,
    signer: { subject: named('Development TSA'), issuer: named('Time-Stamping CA'), sha256: sha256(pki.signer.certificate) },
    policy: '2.999.1',
    accuracy_seconds: 1,
    trust_anchor: { subject: named('Root CA'), sha256: sha256(pki.root.certificate) },
    chain_ends_at: null,
  });
  expect(cli.only(await run(['verify', '--json', '--ca', 'other.pem', 'a'])).verdict).toBe('not_proved');
});

test('V9: without an anchor it is not proved: the certificate to get, with its fingerprint, and no claim', async () => {
  const { code, stdout } = await run('a');
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT PROVED, trust_store_empty: /)]);
  expect(stdout).toContain(`it says: this content existed at ${shownTime}`);
  const last = `${named('Time-Stamping CA')} (${shownSha256(pki.intermediate.certificate)})`;
  expect(stdout).toContain(`its chain ends at ${last}; its issuer ${named('Root CA')} is not in the token`);
  expect(stdout).toContain('get the root certificate from the authority');
  expect(stdout).not.toMatch(/: valid|qualified|acme/);
  const end = { chain_ends_at: { sha256: sha256(pki.intermediate.certificate) } };
  expect(await judge('a')).toMatchObject({ valid: false, issued_at: null, claimed_at: genTime, trust_anchor: null, ...end });

  const withRoot = { ...pki.signer, chain: [...pki.signer.chain, pki.root.certificate] };
  expect((await run('a', tokenOf('a', { identity: withRoot }))).stdout).toContain(
    `leads to the root ${named('Root CA')} (${shownSha256(pki.root.certificate)})\n  get the root`,
  );
});

const bare = tokenOf('a', { identity: { ...pki.signer, chain: [] } });
const forged = Buffer.from(tokenOf('a'), 'base64');
forged[forged.length - 1]! ^= 1;
const revoked = [{ serialNumber: pki.signer.serialNumber, revokedAtMs: genTimeMs - hourMs, reason: 1 }];
const list = { number: 1n, thisUpdateMs: genTimeMs + hourMs, nextUpdateMs: genTimeMs + 2 * hourMs, revoked };
// The types of Node.js do not have this key yet.
const pair = generateKeyPairSync('ml-dsa-65' as 'ed25519');
const mlDsa = scheme('sha512', sequence(objectIdentifier('2.16.840.1.101.3.4.3.18')), (data, key) => sign(null, data, key));
const unknown = issueSigner(pki.intermediate, { nowMs: genTimeMs - hourMs, key: { ...pair, scheme: mlDsa } });
const given = {
  'ca.der': pki.intermediate.certificate,
  'revoked.crl': issueCrl(list, pki.intermediate),
  'alone.tst': answerFor('a'),
  b: 'b',
  'b.tsr': answerFor('a', { identity: unknown }),
  'long.tsr': answerFor('a', { hash: 'sha512' }),
  'token.b64': `\uFEFF${tokenOf('a')}\n`,
};
const long = { imprint: { algorithm: 'sha512', digest: cli.digestOf('a', 'sha512').toString('hex') }, content_sha256: null };
test.each<[what: string, line: string, code: number, reason: string | null, token?: string, more?: object]>([
  ['a token without a certificate', 'a --ca root.pem', 1, 'untrusted_root', bare],
  ['--intermediate alone, which trusts nothing', 'a --intermediate ca.der', 1, 'trust_store_empty', bare],
  ['--intermediate and an anchor', 'a --ca root.pem --intermediate ca.der', 0, null, bare],
  ['a forged token', 'a', 1, 'signature_invalid', forged.toString('base64')],
  ['a forged token, with an anchor', 'a --ca root.pem', 1, 'signature_invalid', forged.toString('base64')],
  ['a revoked signer (V10)', 'a --ca root.pem --crl revoked.crl', 1, 'certificate_revoked'],
  ['a revoked, unknown signer (V11)', 'a --ca other.pem --crl revoked.crl', 1, 'certificate_revoked'],
  ['an unknown algorithm (V11)', 'a --ca root.pem', 2, 'signature_algorithm_unknown', tokenOf('a', { identity: unknown })],
  ['an unknown algorithm, of another file', 'b --ca root.pem', 1, 'imprint_mismatch'],
  ['a token alone', 'alone.tst --ca root.pem', 0, null],
  ['a token in base64, after a byte order mark', 'a --token token.b64 --ca root.pem', 0, null],
  ['a file that is hashed as the imprint is', 'a --token long.tsr --ca root.pem', 0, null, tokenOf('a'), long],
  ['garbage (V4)', 'a', 1, '[a-z0-9_]+', 'AAAA'.repeat(20)],
  ['garbage alone', 'AAAA'.repeat(20), 1, '[a-z0-9_]+'],
  ['JSON in base64', 'a', 1, '[a-z0-9_]+', Buffer.from('{"valid":true}'.repeat(5)).toString('base64')],
])('the verdict, its reason and the exit code: %s', async (_what, line, code, reason, token, more) => {
  const unproved = ['untrusted_root', 'trust_store_empty', 'signature_algorithm_unknown'];
  const verdict = reason === null ? 'valid' : unproved.includes(reason) ? 'not_proved' : 'not_valid';
  const why = reason && expect.stringMatching(`^${reason}: `);
  const claimed_at = verdict === 'not_proved' && code === 1 ? genTime : null;
  expect(await judge(line, token, given)).toMatchObject({ code, verdict, reason: why, claimed_at, ...more });
});

const changed = (when: string) =>
  `the file has changed since it was ${when}, or is a different file, or this is the token of a batch: use the .ers file`;
const mismatch = /^a: NOT VALID, imprint_mismatch: /;
test.each<[what: string, line: string, begins: string | RegExp, says: string, files: cli.Files, token?: string, stdin?: string]>([
  ['a file beside its token', 'a.tsr', `a (by a.tsr): valid, existed at ${shownTime}`, '', { 'a.tsr': answerFor('a') }],
  ['a token without a file', tokenOf('a'), /^\S+: valid, content with the SHA-256 \w{64} existed at /, 'only the token was verified', {}],
  ['another file', `b --token ${tokenOf('a')}`, /^b: NOT VALID, imprint_mismatch/, '', { b: 'b' }],
  ['standard input', '- --token a.qstamp.json', `-: valid, existed at ${shownTime}`, '', {}, tokenOf('a'), 'a'],
  ['other standard input', '- --token a.qstamp.json', /^-: NOT VALID/, '', {}, tokenOf('a'), 'b'],
  ['an edited stamp file', 'a', `a: valid, existed at ${shownTime}`, '', { 'a.qstamp.json': cli.recordOf('forged', tokenOf('a')) }],
  ['a changed file', 'a', mismatch, changed(`stamped at ${shownTime}`), { a: 'b' }],
  ['a changed file, unproved', 'a --ca other.pem', mismatch, changed(`stamped at ${shownTime}, as its token says`), { a: 'b' }],
  [
    'a mock token',
    'a',
    /^(?![\s\S]*existed)a: NOT PROVED, mock_not_rfc3161: .*\n {2}only its own service can verify/,
    '',
    {},
    cli.mockToken('a'),
  ],
  ['a mock token, changed', 'a', mismatch, 'it was stamped at 2001-01-01T00:00:00.000Z, as its record', { a: 'b' }, cli.mockToken('a')],
])('%s: the first line and the advice (V9)', async (_what, line, begins, says, files, token, stdin) => {
  const marked = { 'root.pem': `\uFEFF${pki.rootPem}` };
  const { stdout } = await run(line.includes('--ca') ? line : `${line} --ca root.pem`, token, { ...marked, ...files }, stdin);
  if (typeof begins === 'string') expect(stdout.split('\n')[0]).toBe(begins);
  else expect(stdout).toMatch(begins);
  expect(stdout).toContain(says);
});

test('one file that is not valid decides over one that could not be checked', async () => {
  expect((await run('a b --ca root.pem', tokenOf('a', { identity: unknown }), given)).code).toBe(1);
});

test('a certificate with an unreadable name is judged and shown like any other', async () => {
  const answer = answerFor('a');
  const commonName = Buffer.from('0603550403', 'hex');
  const places = [...answer.keys()].filter((at) => answer.subarray(at, at + 5).equals(commonName));
  expect(places.length).toBeGreaterThan(4);
  for (const at of places) {
    const bent = Buffer.from(answer)
      .fill(0x0c, at, at + 1)
      .toString('base64');
    expect(await run('a', bent)).toMatchObject({ code: 1, stdout: expect.stringMatching(/^a: NOT (VALID|PROVED), /), stderr: '' });
  }
});

const sentence = 'Minutes of the quarterly meeting of the whole board in London a';
const neither = 'there is no such file, and this is neither an id nor a token';
test.each([
  [['missing'], 5, `missing: ${neither}`],
  [[sentence], 5, `${sentence}: ${neither}`],
  [['lonely'], 5, 'lonely: there is no stamp beside it (lonely.qstamp.json); "qstamp stamp FILE" makes one, --token names another'],
  [['gone.qstamp.json'], 5, 'gone.qstamp.json: the stamped file is not beside it (gone)'],
  [['bad'], 5, 'bad: bad.qstamp.json is damaged, or is not a stamp; use a copy, or stamp again with --force'],
  [['a', '--ca', 'a'], 5, 'qstamp: a: A trust anchor is neither PEM nor DER.'],
  [['a', '--ca', 'missing'], 5, 'qstamp: missing: there is no such file'],
  [['empty', '--ca', 'missing'], 5, 'qstamp: missing: there is no such file'],
  [['a', '--crl', 'a'], 5, 'qstamp: a: A revocation list is neither PEM nor DER.'],
  [[tokenId], 2, expect.stringContaining('--online')],
])('what cannot be read is one sentence: %j', async (line, code, said) => {
  const files = {
    lonely: 'a',
    'gone.qstamp.json': cli.recordOf('a', tokenOf('a')),
    bad: 'a',
    'bad.qstamp.json': '{}',
    'empty/.hidden': '',
  };
  const { stderr, ...outcome } = await folder(tokenOf('a'), files).run(['verify', ...line]);
  expect([outcome.code, outcome.stdout, stderr.trim()]).toEqual([code, '', said]);
});
