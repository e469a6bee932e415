import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readableFingerprint } from '../../src/cli/anchors.ts';
import { verify } from '../../src/cli/commands/verify.ts';
import { objectIdentifier, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { issueCrl } from '../../src/tsa/certificate.ts';
import { issueSigner } from '../../src/tsa/pki.ts';
import { folderWith } from '../support/cli-in-process.ts';
import {
  answerFor,
  digestOf,
  fingerprintOf,
  folder,
  genTime,
  genTimeMs,
  hourMs,
  named,
  only,
  pki,
  shownTime,
  tokenId,
  tokenOf,
} from '../support/cli-verify-lab.ts';
import { scheme } from '../support/signature-lab.ts';

describe('without the service', () => {
  test('valid by a named anchor, with genTime and the list of what was not checked', async () => {
    const { run } = folder(tokenOf('a'));
    const { code, stdout, stderr } = await run(['verify', '--ca', 'root.pem', 'a']);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n  ');
    expect(lines[0]).toBe(`a: valid, existed at ${shownTime}`);
    expect(lines[1]).toBe(`signed by ${named('Development TSA')}, policy 2.999.1, accurate to 1 s`);
    expect(lines[2]).toBe(`trust anchor ${named('Root CA')}, SHA-256 ${readableFingerprint(fingerprintOf(pki.root.certificate))}`);
    const why = 'no revocation list of its issuer is available';
    const unchecked = ['Development TSA', 'Time-Stamping CA'].map((name) => `whether ${named(name)} was revoked: ${why}`);
    expect(lines.slice(3)).toEqual([`not checked: ${unchecked.join('; ')}\n`]);
  });

  test('--json: one line with all proved facts, by a kept anchor; --ca replaces all kept anchors', async () => {
    const { run } = folder(tokenOf('a'));
    expect((await run(['trust', 'add', '--yes', 'root.pem'])).code).toBe(0);
    const outcome = await run(['verify', '--json', 'a']);
    expect(outcome.code).toBe(0);
    expect(only(outcome)).toMatchObject({
      subject: 'a',
      verdict: 'valid',
      valid: true,
      reason: null,
      issued_at: genTime,
      claimed_at: null,
      imprint: { algorithm: 'sha256', digest: digestOf('a').toString('hex') },
      content_sha256: digestOf('a').toString('hex'),
      token_id: null,
      claimed_token_id: tokenId,
      signer: { subject: named('Development TSA'), issuer: named('Time-Stamping CA'), sha256: fingerprintOf(pki.signer.certificate) },
      policy: '2.999.1',
      accuracy_seconds: 1,
      trust_anchor: { subject: named('Root CA'), sha256: fingerprintOf(pki.root.certificate) },
      chain_ends_at: null,
    });
    expect(outcome.stdout.trim()).not.toContain('\n');
    expect(only(await run(['verify', '--json', '--ca', 'other.pem', 'a'])).verdict).toBe('not_proved');
  });

  test('V11: an algorithm that it does not know is not proved: exit code 2; but another file is not valid: exit code 1', async () => {
    // The types of Node.js do not have this key yet.
    const pair = generateKeyPairSync('ml-dsa-65' as 'ed25519');
    const mlDsa = scheme('sha512', sequence(objectIdentifier('2.16.840.1.101.3.4.3.18')), (data, key) => sign(null, data, key));
    const identity = issueSigner(pki.intermediate, { nowMs: genTimeMs - hourMs, key: { ...pair, scheme: mlDsa } });
    const { run } = folder(tokenOf('a', { identity }), { b: 'b', 'b.tsr': answerFor('a', { identity }) });
    const outcome = await run(['verify', '--json', '--ca', 'root.pem', 'a']);
    expect([outcome.code, only(outcome)]).toMatchObject([
      2,
      { verdict: 'not_proved', reason: expect.stringMatching(/^signature_algorithm_unknown: .* could not be checked\.$/) },
    ]);
    const other = await run(['verify', '--json', '--ca', 'root.pem', 'b']);
    expect([other.code, only(other)]).toMatchObject([1, { verdict: 'not_valid', reason: expect.stringMatching(/^imprint_mismatch: /) }]);
    expect((await run(['verify', '--ca', 'root.pem', 'a', 'b'])).code).toBe(1);
  });

  test('V9: without an anchor it is not proved: exit code 1, the fingerprint to compare, and no claim', async () => {
    const { run } = folder(tokenOf('a'));
    const { code, stdout } = await run(['verify', 'a']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^a: NOT PROVED, trust_store_empty: /);
    expect(stdout).toContain(`it says: this content existed at ${shownTime}`);
    const last = `${named('Time-Stamping CA')} (SHA-256 ${readableFingerprint(fingerprintOf(pki.intermediate.certificate))})`;
    expect(stdout).toContain(`its chain ends at ${last}; its issuer ${named('Root CA')} is not in the token`);
    expect(stdout).toContain('get the root certificate from the authority');
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

  test('without an anchor, a chain that ends at a root in the token names the root', async () => {
    const identity = { ...pki.signer, chain: [...pki.signer.chain, pki.root.certificate] };
    const { stdout } = await folder(tokenOf('a', { identity })).run(['verify', 'a']);
    expect(stdout).toContain(
      `leads to the root ${named('Root CA')} (SHA-256 ${readableFingerprint(fingerprintOf(pki.root.certificate))})\n  get the root`,
    );
  });

  const bare = () => tokenOf('a', { identity: { ...pki.signer, chain: [] } });
  const forged = () => {
    const bytes = answerFor('a');
    bytes[bytes.length - 1]! ^= 1;
    return bytes.toString('base64');
  };
  const revoked = [{ serialNumber: pki.signer.serialNumber, revokedAtMs: genTimeMs - hourMs, reason: 1 }];
  const list = { number: 1n, thisUpdateMs: genTimeMs + hourMs, nextUpdateMs: genTimeMs + 2 * hourMs, revoked };
  const given = { 'ca.der': pki.intermediate.certificate, 'revoked.crl': issueCrl(list, pki.intermediate) };
  test.each<[what: string, token: () => string, options: string, verdict: string, reason: string | null]>([
    ['lacks a certificate', bare, '--ca root.pem', 'not_proved', 'untrusted_root'],
    ['lacks it, and --intermediate alone trusts nothing', bare, '--intermediate ca.der', 'not_proved', 'trust_store_empty'],
    ['lacks it, and --intermediate supplies it', bare, '--ca root.pem --intermediate ca.der', 'valid', null],
    ['is forged, without an anchor', forged, '', 'not_valid', 'signature_invalid'],
    ['is forged, with an anchor', forged, '--ca root.pem', 'not_valid', 'signature_invalid'],
    ['has a revoked signer (V10)', () => tokenOf('a'), '--ca root.pem --crl revoked.crl', 'not_valid', 'certificate_revoked'],
    ['has a revoked, unknown signer (V11)', () => tokenOf('a'), '--ca other.pem --crl revoked.crl', 'not_valid', 'certificate_revoked'],
  ])('a token that %s', async (_what, token, options, verdict, reason) => {
    const { run } = folder(token(), given);
    const said = only(await run(['verify', '--json', 'a', ...options.split(' ').filter(Boolean)]));
    expect(said).toMatchObject({ verdict, reason: reason && expect.stringMatching(`^${reason}: `) });
    expect(said.claimed_at).toBe(verdict === 'not_proved' ? genTime : null);
  });

  test('edits in the stamp file change nothing: the file is hashed again, and the time comes from the token', async () => {
    const { run } = folder(tokenOf('a'), {}, 'forged');
    expect((await run(['verify', 'a', '--ca', 'root.pem'])).stdout).toContain(`existed at ${shownTime}`);
    const forged = folder(tokenOf('a'), { a: 'forged' }, 'forged');
    expect((await forged.run(['verify', 'a', '--ca', 'root.pem'])).stdout).toMatch(/^a: NOT VALID, imprint_mismatch: /);
  });

  test.each([
    [`stamped at ${shownTime}`, ['--ca', 'root.pem']],
    [`stamped at ${shownTime}, as its token says`, ['--ca', 'other.pem']],
    [`stamped at ${shownTime}, as its token says`, []],
  ])('V9: the output says that the file has changed since it was %s, with %j', async (when, options) => {
    const { run, path } = folder(tokenOf('a'));
    writeFileSync(path('a'), 'b');
    const { code, stdout } = await run(['verify', 'a', ...options]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, imprint_mismatch: /)]);
    expect(stdout).toContain(
      `the file has changed since it was ${when}, or is a different file, or this is the token of a batch: use the .ers file`,
    );
  });

  test('the file is hashed with the algorithm of the imprint', async () => {
    const { run } = folderWith([verify], { a: 'a', 'a.tsr': answerFor('a', { hash: 'sha512' }), 'root.pem': pki.rootPem });
    expect(only(await run(['verify', '--json', '--ca', 'root.pem', 'a']))).toMatchObject({
      verdict: 'valid',
      imprint: { algorithm: 'sha512', digest: digestOf('a', 'sha512').toString('hex') },
      content_sha256: null,
    });
  });
});
