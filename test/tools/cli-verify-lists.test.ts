import { createPublicKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { basicConstraints, issueCertificate, issueCrl, pem } from '../../src/tsa/certificate.ts';
import { createPki, issueSigner, type Pki } from '../../src/tsa/pki.ts';
import { answerFor, folder, genTimeMs, hourMs, only, pki, tokenOf } from '../support/cli.ts';
import { newListSigner } from '../support/list-server.ts';
import { type ListedService, type ListOptions, makeTrustedList } from '../support/trusted-lists.ts';

const sweden = newListSigner('Sweden');
const stranger = newListSigner('Stranger');
const commission = newListSigner('Commission');

/** The list of Sweden with one service of the lab; `of`: the certificate that stands for it. */
const listWith = (
  service: Partial<ListedService> = {},
  { of = pki.intermediate.certificate, ...more }: Partial<Parameters<typeof makeTrustedList>[0]> & { of?: Buffer } = {},
) =>
  makeTrustedList({
    territory: 'SE',
    sequenceNumber: 61,
    signed: sweden,
    ...more,
    providers: [
      {
        name: 'Y',
        services: [{ type: 'TSA/QTST', name: 'X', status: 'granted', since: '2016-07-01T00:00:00Z', certificates: [of], ...service }],
      },
    ],
  });
const signers = { 'se.pem': pem('CERTIFICATE', sweden.certificate), 'eu.pem': pem('CERTIFICATE', commission.certificate) };
const given = ['--trusted-list', 'se.xml', '--list-signers', 'se.pem'];
const inFolder = (list: Buffer, token = tokenOf('a'), more: Record<string, string | Uint8Array> = {}) =>
  folder(token, { 'se.xml': list, ...signers, ...more });
const sentence = 'Qualified: the service “X” of Y is listed in Sweden’s trusted list no. 61 as granted since 1 July 2016.';

describe('qstamp verify --trusted-list', () => {
  test('a token of a granted service is valid without --ca, and the details say why', async () => {
    const { run } = inFolder(listWith());
    const shown = await run(['verify', ...given, 'a']);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain(`\n  ${sentence}\n`);
    expect(shown.stdout).toContain('trusted as a service of the trusted list: CN=Time-Stamping CA');
    expect(only(await run(['verify', '--json', ...given, 'a']))).toMatchObject({
      verdict: 'valid',
      qualified: {
        status: 'qualified',
        basis: 'list',
        country: 'SE',
        list_number: 61,
        service: 'X',
        granted_since: '2016-07-01T00:00:00.000Z',
      },
    });
    expect(only(await run(['verify', '--json', '--ca', 'root.pem', ...given, 'a']))).toMatchObject({
      verdict: 'valid',
      qualified: { status: 'qualified' },
    });
    const without = only(await run(['verify', '--json', '--ca', 'root.pem', 'a']));
    expect([without.verdict, 'qualified' in without]).toEqual(['valid', false]);
  });

  const history = [{ type: 'TSA/QTST', name: 'X', status: 'granted', since: '2016-07-01T00:00:00Z' }];
  const twin = createPki({ nowMs: genTimeMs - hourMs }).intermediate.certificate;
  test.each<[string, Buffer, string | null, string]>([
    ['wrong type', listWith({ type: 'TSA' }), 'service_other_type', 'but not for qualified time-stamps (its type is TSA)'],
    ['granted only later', listWith({ since: '2025-01-01T00:00:00Z' }), 'service_not_yet_granted', 'not have the service'],
    [
      'withdrawn before',
      listWith({ status: 'withdrawn', since: '2023-01-01T00:00:00Z', history }),
      'service_withdrawn',
      'as withdrawn since 1 January 2023',
    ],
    ['same subject, another key', listWith({}, { of: twin }), 'service_other_key', 'names the service “X” of Y, but with another key'],
  ])('%s: not proved by the list; with --ca valid and not qualified', async (_, list, reason, says) => {
    const { run } = inFolder(list);
    const alone = await run(['verify', ...given, 'a']);
    expect(alone.code).toBe(1);
    expect(alone.stdout).toMatch(/^a: NOT PROVED, trust_store_empty/);
    expect(alone.stdout).toContain(`\n  Not qualified: Sweden’s trusted list no. 61`);
    expect(alone.stdout).toContain(says);
    const trusted = only(await run(['verify', '--json', '--ca', 'root.pem', ...given, 'a']));
    expect(trusted).toMatchObject({ verdict: 'valid', qualified: { status: 'not_qualified', basis: 'list' } });
    expect(trusted.qualified.reason).toMatch(new RegExp(`^${reason}: `));
  });

  test('a list that a stranger signed, or that cannot be read, is a failure, and nothing is qualified by it', async () => {
    const { run } = inFolder(listWith({}, { signed: stranger }));
    const { code, stdout, stderr } = await run(['verify', ...given, 'a']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^se\.xml: list_wrong_signer: The list is not signed with/)]);
    expect(stdout).toMatch(/^a: NOT PROVED/);
    expect(stdout).not.toContain('ualified');
    const trusted = await run(['verify', '--ca', 'root.pem', ...given, 'a']);
    expect([trusted.code, trusted.stdout]).toEqual([1, expect.stringContaining('2 files: 1 valid, 1 list refused\n')]);
    const missing = await run(['verify', '--ca', 'root.pem', '--trusted-list', 'no.xml', '--list-signers', 'se.pem', 'a']);
    expect([missing.code, missing.stderr]).toEqual([5, 'no.xml: there is no such file\n']);
    expect((await run(['verify', '--trusted-list', 'se.xml', 'a'])).code).toBe(2);
    expect((await run(['verify', '--list-signers', 'se.pem', 'a'])).code).toBe(2);
  });

  test('a list of lists names the signers of a list, and the newest list of a country counts', async () => {
    const pointers = [{ territory: 'SE', location: 'https://lists.example/se.xml', signers: [sweden.certificate] }];
    const europe = makeTrustedList({ kind: 'list_of_lists', territory: 'EU', sequenceNumber: 3, pointers, signed: commission });
    const newer = listWith({ status: 'withdrawn', since: '2020-01-01T00:00:00Z', history }, { sequenceNumber: 62 });
    const { run } = inFolder(listWith(), undefined, { 'eu.xml': europe, 'newer.xml': newer });
    const by = (...lists: string[]) =>
      run(['verify', '--json', ...lists.flatMap((list) => ['--trusted-list', list]), '--list-signers', 'eu.pem', 'a']);
    expect(only(await by('se.xml', 'eu.xml'))).toMatchObject({ verdict: 'valid', qualified: { list_number: 61 } });
    expect(only(await by('se.xml', 'newer.xml', 'eu.xml'))).toMatchObject({ verdict: 'not_proved', qualified: { list_number: 62 } });
    expect((await by('se.xml')).code).toBe(1);
  });

  test('two lists with one number and different contents are refused, whatever their order, and so is a list of a third country', async () => {
    const other = listWith({ status: 'withdrawn', since: '2020-01-01T00:00:00Z', history });
    const third = makeTrustedList({ territory: 'UA', signed: sweden });
    const { run } = inFolder(listWith(), undefined, {
      'other.xml': other,
      'ua.xml': third,
      'old.xml': listWith({}, { sequenceNumber: 60 }),
    });
    const by = (...lists: string[]) =>
      run(['verify', ...lists.flatMap((list) => ['--trusted-list', list]), '--list-signers', 'se.pem', 'a']);
    for (const files of [
      ['se.xml', 'other.xml', 'old.xml'],
      ['old.xml', 'other.xml', 'se.xml'],
    ]) {
      const { code, stdout, stderr } = await by(...files);
      expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT PROVED/)]);
      expect(stdout).not.toContain('Qualified');
      expect(stderr.match(/list_number_reused/g)).toHaveLength(2);
    }
    expect((await by('se.xml', 'se.xml')).stdout).toContain(sentence);
    expect((await by('se.xml', 'ua.xml')).stderr).toMatch(/^ua\.xml: list_not_european: /);
  });

  test('the newest list of lists names the signers; one that the given certificates signed needs no pivots; its dates are judged', async () => {
    const europe = (sequenceNumber: number, signer: typeof sweden, of: ListOptions = {}) =>
      makeTrustedList({
        kind: 'list_of_lists',
        sequenceNumber,
        signed: commission,
        pivots: ['https://lists.example/pivot-1.xml'],
        pointers: [{ territory: 'SE', location: 'https://lists.example/se.xml', signers: [signer.certificate] }],
        ...of,
      });
    const files = {
      '3.xml': europe(3, sweden),
      '4.xml': europe(4, stranger),
      'expired.xml': europe(5, sweden, { nextUpdate: '2026-01-01T00:00:00Z' }),
      'future.xml': europe(6, sweden, { issuedAt: '2126-01-01T00:00:00Z', nextUpdate: null }),
    };
    const { run } = inFolder(listWith(), undefined, files);
    const by = (...lists: string[]) =>
      run(['verify', ...['se.xml', ...lists].flatMap((list) => ['--trusted-list', list]), '--list-signers', 'eu.pem', 'a']);
    const current = await by('3.xml');
    expect(current).toMatchObject({ code: 0, stderr: '' });
    expect(current.stdout).not.toContain('list of lists');
    expect((await by('3.xml', '4.xml')).stderr).toMatch(/^se\.xml: list_wrong_signer: /);
    expect((await by('expired.xml')).stdout).toMatch(
      /not checked: .*the list of lists no\. 5 has expired, a newer one was due at 2026-01-01/,
    );
    expect((await by('future.xml')).stdout).toMatch(/not checked: .*the list of lists no\. 6 is in force: it is dated in the future/);
  });

  test('a list of a country that is dated in the future decides, and the verdict says so', async () => {
    const { run } = inFolder(listWith({}, { issuedAt: '2126-01-01T00:00:00Z', nextUpdate: null }));
    const { code, stdout } = await run(['verify', ...given, 'a']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/not checked: .*whether list no\. \d+ of SE is in force: it is dated in the future/),
    ]);
  });

  test('the United Kingdom’s last list qualifies no later time-stamp', async () => {
    const list = makeTrustedList({
      territory: 'UK',
      issuedAt: '2020-12-31T22:59:59Z',
      nextUpdate: null,
      signed: sweden,
      providers: [{ name: 'Y', services: [{ ...history[0]!, certificates: [pki.intermediate.certificate] }] }],
    });
    const { code, stdout } = await inFolder(list).run(['verify', ...given, 'a']);
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('Not qualified: United Kingdom’s trusted list no. 1 had expired at the time'),
    ]);
  });

  test('says if the certificate on the list had expired before the time-stamp', async () => {
    const template = { commonName: 'Time-Stamping CA', serial: 5n, notBeforeMs: 0, notAfterMs: genTimeMs - hourMs, extensions: [] };
    const { privateKey, scheme } = pki.intermediate;
    const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
    const old = issueCertificate({ ...template, extensions: [basicConstraints(true)] }, key, pki.root).certificate;
    const { run } = inFolder(listWith({ certificates: [old] }));
    const shown = await run(['verify', ...given, 'a']);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining(sentence)]);
    const says = 'its certificate on the trusted list expired at 2024-02-29T11:00:00.000Z';
    expect(shown.stdout).toContain(says);
    expect(only(await run(['verify', '--json', '--ca', 'root.pem', ...given, 'a'])).not_checked).toContainEqual(
      expect.stringContaining(says),
    );
    const both = inFolder(listWith({ certificates: [old, pki.intermediate.certificate] }));
    expect((await both.run(['verify', ...given, 'a'])).stdout).not.toContain('on the trusted list expired');
  });

  test('says both if the service was withdrawn after the time-stamp', async () => {
    const { run } = inFolder(listWith({ status: 'withdrawn', since: '2025-05-01T00:00:00Z', history }));
    const { code, stdout } = await run(['verify', ...given, 'a']);
    expect(code).toBe(0);
    expect(stdout).toContain(sentence);
    expect(stdout).toMatch(/\n {2}On .*, the list has the service as withdrawn since 1 May 2025;/);
  });

  test('a changed file is not qualified, and a revoked certificate is not trusted because of a list', async () => {
    const changed = inFolder(listWith(), tokenOf('another'));
    const mismatch = await changed.run(['verify', '--json', ...given, 'a']);
    expect(only(mismatch)).toMatchObject({ verdict: 'not_valid', qualified: null });

    const of = issueSigner(pki.intermediate, { nowMs: genTimeMs - hourMs, serial: 77n });
    const crl = revoking(pki, 77);
    const revoked = inFolder(listWith(), answerFor('a', { identity: of }).toString('base64'), { 'ca.crl': crl });
    expect((await revoked.run(['verify', ...given, 'a'])).code).toBe(0);
    const { code, stdout } = await revoked.run(['verify', ...given, '--crl', 'ca.crl', 'a']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, certificate_revoked/)]);
  });
});

describe('a revoked key', () => {
  const real = issueSigner(pki.intermediate, { nowMs: genTimeMs - hourMs, serial: 77n });
  const key = { privateKey: real.privateKey, publicKey: createPublicKey(real.privateKey), scheme: real.scheme };
  const selfIssued = issueSigner(real, { nowMs: genTimeMs - hourMs, key });
  const fresh = issueSigner(real, { nowMs: genTimeMs - hourMs });
  const by = (identity: SigningIdentity) =>
    inFolder(listWith({}, { of: real.certificate }), answerFor('a', { identity: { ...identity, chain: [] } }).toString('base64'), {
      'ca.crl': revoking(pki, 77),
      'ca.pem': pem('CERTIFICATE', pki.intermediate.certificate),
    });
  const crl = ['--crl', 'ca.crl'];
  const operator = [...crl, '--intermediate', 'ca.pem'];

  test.each([
    ['its own certificate', real],
    ['a certificate that its owner made', selfIssued],
  ])('of a listed service makes nothing valid: %s', async (_, identity) => {
    const { run } = by(identity);
    expect((await run(['verify', ...given, 'a'])).code).toBe(0);
    // Also if nobody has the certificate that would show who signed the list: the owner of the key decides what his token brings along.
    for (const options of [
      operator,
      [...operator, '--ca', 'root.pem'],
      [...operator, '--ca', 'other.pem'],
      crl,
      [...crl, '--ca', 'other.pem'],
    ]) {
      const { code, stdout } = await run(['verify', ...given, ...options, 'a']);
      expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, certificate_revoked/)]);
    }
  });

  test('certifies no other key', async () => {
    const { code, stdout } = await by(fresh).run(['verify', ...given, 'a']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, issuer_not_ca/)]);
  });

  test('is named as revoked without a trust anchor too', async () => {
    const { code, stdout } = await by(real).run(['verify', ...operator, 'a']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, certificate_revoked/)]);
  });
});

const revoking = ({ intermediate }: Pki, serial: number): Buffer =>
  issueCrl(
    {
      number: 1n,
      thisUpdateMs: genTimeMs + hourMs,
      nextUpdateMs: genTimeMs + 48 * hourMs,
      revoked: [{ serialNumber: Buffer.from([2, 1, serial]), revokedAtMs: genTimeMs - hourMs / 2 }],
    },
    intermediate,
  );
