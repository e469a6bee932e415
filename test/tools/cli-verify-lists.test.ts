import { createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import type { SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { basicConstraints, createPki, issueCertificate, issueCrl, issueSigner, pem } from '../support/certificates.ts';
import { type Files, folder, genTimeMs, hourMs, only, pki, tokenOf } from '../support/cli.ts';
import { newListSigner } from '../support/list-server.ts';
import { type ListedService, makeTrustedList } from '../support/trusted-lists.ts';

/** `qstamp verify --trusted-list`. What a list decides is in test/verifier/qualified-by-list.test.ts. */

const [sweden, stranger, commission] = [newListSigner('Sweden'), newListSigner('Stranger'), newListSigner('Commission')];
type List = Partial<Parameters<typeof makeTrustedList>[0]>;

const granted = { type: 'TSA/QTST', name: 'X', status: 'granted', since: '2016-07-01T00:00:00Z' };
const withdrawn = (since: string): Partial<ListedService> => ({ status: 'withdrawn', since, history: [granted] });

/** The list of Sweden with one service. */
const listWith = (service: Partial<ListedService> = {}, more: List = {}) => {
  const services = [{ ...granted, certificates: [pki.intermediate.certificate], ...service }];
  return makeTrustedList({ territory: 'SE', sequenceNumber: 61, signed: sweden, providers: [{ name: 'Y', services }], ...more });
};
/** A list of lists that names this signer for Sweden. */
const europe = (sequenceNumber: number, signer = sweden, more: List = {}) => {
  const pointers = [{ territory: 'SE', location: 'https://lists.example/se.xml', signers: [signer.certificate] }];
  return makeTrustedList({ kind: 'list_of_lists', territory: 'EU', sequenceNumber, pointers, signed: commission, ...more });
};
const signers = { 'se.pem': pem('CERTIFICATE', sweden.certificate), 'eu.pem': pem('CERTIFICATE', commission.certificate) };

interface Case {
  readonly lists?: Readonly<Record<string, Buffer>>;
  readonly signer?: string;
  readonly token?: string;
  readonly files?: Files;
}
/** Verifies by these lists, which are given in this order. */
const verify = (options: string, { lists = { se: listWith() }, signer = 'se.pem', token = tokenOf('a'), files = {} }: Case = {}) => {
  const given = Object.keys(lists).flatMap((name) => ['--trusted-list', name]);
  const { run } = folder(token, { ...lists, ...signers, ...files });
  return run(['verify', ...given, '--list-signers', signer, ...options.split(' '), 'a'].filter(Boolean));
};
const judge = async (options: string, given?: Case) => only(await verify(`--json ${options}`, given));
const sentence = 'Qualified: the service “X” of Y is listed in Sweden’s trusted list no. 61 as granted since 1 July 2016.';

test('a token of a granted service is valid without --ca, and the details say why', async () => {
  const shown = await verify('');
  expect(shown).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`\n  ${sentence}\n`) });
  expect(shown.stdout).toContain('trusted as a service of the trusted list: CN=Time-Stamping CA');
  const since = { granted_since: '2016-07-01T00:00:00.000Z' };
  const qualified = { status: 'qualified', basis: 'list', country: 'SE', list_number: 61, service: 'X', ...since };
  for (const options of ['', '--ca root.pem']) expect(await judge(options)).toMatchObject({ verdict: 'valid', qualified });
  expect(only(await folder(tokenOf('a')).run(['verify', '--json', '--ca', 'root.pem', 'a']))).not.toHaveProperty('qualified');
});

const twin = createPki({ nowMs: genTimeMs - hourMs }).intermediate.certificate;
test.each<[string, Partial<ListedService>, string]>([
  ['service_other_type', { type: 'TSA' }, 'but not for qualified time-stamps (its type is TSA)'],
  ['service_not_yet_granted', { since: '2025-01-01T00:00:00Z' }, 'not have the service'],
  ['service_withdrawn', withdrawn('2023-01-01T00:00:00Z'), 'as withdrawn since 1 January 2023'],
  ['service_other_key', { certificates: [twin] }, 'names the service “X” of Y, but with another key'],
])('%s: not proved by the list; with --ca valid and not qualified', async (reason, service, says) => {
  const lists = { se: listWith(service) };
  const { code, stdout } = await verify('', { lists });
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT PROVED, trust_store_empty/)]);
  expect(stdout).toMatch(new RegExp(`\n {2}Not qualified: Sweden’s trusted list no. 61.*${says.replace(/[()]/g, '.')}`));
  const qualified = { status: 'not_qualified', basis: 'list', reason: expect.stringMatching(`^${reason}: `) };
  expect(await judge('--ca root.pem', { lists })).toMatchObject({ verdict: 'valid', qualified });
});

const other = listWith(withdrawn('2020-01-01T00:00:00Z'));
const newer = listWith(withdrawn('2020-01-01T00:00:00Z'), { sequenceNumber: 62 });
const older = listWith({}, { sequenceNumber: 60 });
const pivots = { pivots: ['https://lists.example/pivot-1.xml'] };
const future = { issuedAt: '2126-01-01T00:00:00Z', nextUpdate: null };
const se = listWith();
const unknown = /^a: NOT PROVED(?![\s\S]*ualified)/;
test.each<[what: string, lists: Record<string, Buffer>, signer: string, code: number, stdout: RegExp, stderr?: RegExp]>([
  ['a list of lists names the signers', { se, eu: europe(3) }, 'eu.pem', 0, /^a: valid(?![\s\S]*list of lists)/],
  ['it is needed', { se }, 'eu.pem', 1, unknown, /^se: list_wrong_signer/],
  ['the given certificates signed it, which needs no pivots', { se, eu: europe(3, sweden, pivots) }, 'eu.pem', 0, /^a: valid/],
  ['its newest names the signers', { se, eu: europe(3), eu4: europe(4, stranger) }, 'eu.pem', 1, unknown, /^se: list_wrong_signer: /],
  [
    'it has expired',
    { se, eu: europe(5, sweden, { nextUpdate: '2026-01-01T00:00:00Z' }) },
    'eu.pem',
    0,
    /not checked: .*list of lists no\. 5 has expired, a newer one was due at 2026-01-01/,
  ],
  [
    'it is of the future',
    { se, eu: europe(6, sweden, future) },
    'eu.pem',
    0,
    /not checked: .*list of lists no\. 6 is in force: it is dated in the future/,
  ],
  [
    'a list of the future',
    { se: listWith({}, future) },
    'se.pem',
    0,
    /not checked: .*whether list no\. 61 of SE is in force: it is dated in the future/,
  ],
  ['the newest list counts', { se, newer, eu: europe(3) }, 'eu.pem', 1, /NOT PROVED[\s\S]*trusted list no\. 62/],
  ['a list twice', { se, again: se }, 'se.pem', 0, new RegExp(sentence)],
  ['one number, two contents', { se, other, older }, 'se.pem', 1, unknown, /list_number_reused[\s\S]*list_number_reused/],
  ['in another order', { older, other, se }, 'se.pem', 1, unknown, /list_number_reused[\s\S]*list_number_reused/],
  ['a third country', { ua: makeTrustedList({ territory: 'UA', signed: sweden }) }, 'se.pem', 1, unknown, /^ua: list_not_european: /],
  [
    'a stranger signed it',
    { se: listWith({}, { signed: stranger }) },
    'se.pem',
    1,
    unknown,
    /^se: list_wrong_signer: The list is not signed with/,
  ],
  [
    'the last list of the United Kingdom',
    { uk: listWith({}, { territory: 'UK', issuedAt: '2020-12-31T22:59:59Z', nextUpdate: null }) },
    'se.pem',
    1,
    /Not qualified: United Kingdom’s trusted list no\. 61 had expired at the time/,
  ],
  [
    'withdrawn after the time-stamp',
    { se: listWith(withdrawn('2025-05-01T00:00:00Z')) },
    'se.pem',
    0,
    new RegExp(`${sentence}[^]*\n {2}On .*, the list has the service as withdrawn since 1 May 2025;`),
  ],
])('which list decides: %s', async (_what, lists, signer, code, stdout, stderr = /^$/) => {
  const outcome = await verify('', { lists, signer });
  expect(outcome).toMatchObject({ code, stdout: expect.stringMatching(stdout), stderr: expect.stringMatching(stderr) });
});

test('a list that is refused or missing is a failure, also if the file is valid without it', async () => {
  const refused = await verify('--ca root.pem', { lists: { se: listWith({}, { signed: stranger }) } });
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('2 files: 1 valid, 1 list refused\n') });
  const { run } = folder(tokenOf('a'), { se, ...signers });
  const missing = await run(['verify', '--ca', 'root.pem', '--trusted-list', 'no.xml', '--list-signers', 'se.pem', 'a']);
  expect(missing).toMatchObject({ code: 5, stderr: 'no.xml: there is no such file\n' });
  for (const half of ['--trusted-list se', '--list-signers se.pem']) expect((await run(['verify', ...half.split(' '), 'a'])).code).toBe(2);
});

test('says if the certificate on the list had expired before the time-stamp', async () => {
  const template = { commonName: 'Time-Stamping CA', serial: 5n, notBeforeMs: 0, notAfterMs: genTimeMs - hourMs };
  const { privateKey, scheme } = pki.intermediate;
  const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
  const old = issueCertificate({ ...template, extensions: [basicConstraints(true)] }, key, pki.root).certificate;
  const says = 'its certificate on the trusted list expired at 2024-02-29T11:00:00.000Z';
  const lists = { se: listWith({ certificates: [old] }) };
  const { code, stdout } = await verify('', { lists });
  expect([code, stdout.includes(sentence), stdout.includes(says)]).toEqual([0, true, true]);
  expect((await judge('--ca root.pem', { lists })).not_checked).toContainEqual(expect.stringContaining(says));
  const both = { se: listWith({ certificates: [old, pki.intermediate.certificate] }) };
  expect((await verify('', { lists: both })).stdout).not.toContain('on the trusted list expired');
});

test('no list makes a changed file qualified, or a token by a revoked key valid', async () => {
  expect(await judge('', { token: tokenOf('another') })).toMatchObject({ verdict: 'not_valid', qualified: null });
  const real = issueSigner(pki.intermediate, { nowMs: genTimeMs - hourMs, serial: 77n });
  const key = { privateKey: real.privateKey, publicKey: createPublicKey(real.privateKey), scheme: real.scheme };
  const selfIssued = issueSigner(real, { nowMs: genTimeMs - hourMs, key });
  const lost = [{ serialNumber: Buffer.from([2, 1, 77]), revokedAtMs: genTimeMs - hourMs / 2 }];
  const crl = { number: 1n, thisUpdateMs: genTimeMs + hourMs, nextUpdateMs: genTimeMs + 48 * hourMs, revoked: lost };
  const files = { crl: issueCrl(crl, pki.intermediate), ca: pki.intermediate.certificate };
  const by = (identity: SigningIdentity) => ({
    lists: { se: listWith({ certificates: [real.certificate] }) },
    token: tokenOf('a', { identity: { ...identity, chain: [] } }),
    files,
  });
  for (const identity of [real, selfIssued]) {
    expect((await verify('', by(identity))).code).toBe(0);
    // Also if nobody has the certificate that would show who signed the revocation list: the owner of the key decides what his token brings along.
    for (const found of ['--intermediate ca', '--intermediate ca --ca root.pem', '', '--ca other.pem']) {
      const { code, stdout } = await verify(`--crl crl ${found}`.trim(), by(identity));
      expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, certificate_revoked/)]);
    }
  }
  const listedCa = { token: tokenOf('a', { identity: real }), files };
  expect((await verify('--crl crl', listedCa)).stdout).toMatch(/^a: NOT VALID, certificate_revoked/);
});
