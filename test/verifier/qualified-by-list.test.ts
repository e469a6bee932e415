import { createPublicKey } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import type { QualificationReason } from '../../src/shared/domain/qualification.ts';
import { countryText } from '../../src/shared/domain/qualification.ts';
import { addTimeStamp, encodeEvidenceRecord, timeStampRenewalOf } from '../../src/shared/rfc3161/ers/encode.ts';
import { certificatesIn, createTrustStore, type SigningIdentity, tokenIn } from '../../src/shared/rfc3161/index.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { createListIndex, type ListIndex, openListThread } from '../../src/shared/trust/lists/index.ts';
import * as x509 from '../support/certificates.ts';
import { issueSigner } from '../support/certificates.ts';
import { below, ca, FROM_MS, judgeRaw, lab, tokenBy } from '../support/chain-lab.ts';
import { newListSigner } from '../support/list-server.ts';
import { hash } from '../support/record-lab.ts';
import { type ListedService, type ListOptions, makeTrustedList } from '../support/trusted-lists.ts';
import { DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const above = ca(undefined, { name: 'Old root' });
const root = ca(above, { name: 'Root' });
const issuer = ca(root, { name: 'Time-stamping CA' });
const signer = below(issuer);
const stranger = ca(undefined, { name: 'Stranger' });
const chain = [signer.certificate, issuer.certificate, root.certificate];
const genTime = new Date(LAB_NOW_MS);

const listSigner = newListSigner('Utopia');
const reader = openListThread();

type Listed = Partial<ListedService>;
const granted = { type: 'TSA/QTST', name: 'Stamps', status: 'granted', since: '2018-03-01T00:00:00Z', certificates: [signer.certificate] };

/** The lists as a service reads them. */
async function indexOf(services: readonly Listed[], options: ListOptions = {}) {
  const providers = [{ name: 'Acme', services: services.map((service) => ({ ...granted, ...service })) }];
  const document = makeTrustedList({ territory: 'SE', sequenceNumber: 61, providers, signed: listSigner, ...options });
  return createListIndex([await reader.read(document, [listSigner.certificate])]);
}

describe('a time-stamp is qualified if its signer, or a CA above it, is granted at genTime', () => {
  const history = [{ type: 'TSA/QTST', name: 'Old name', status: 'granted', since: '2017-05-01T00:00:00Z' }];
  const withdrawn = (since: string): Listed => ({ status: 'withdrawn', since, history });
  const early = [{ since: '2010-01-01T00:00:00Z' }];
  const sameName = issueSigner(issuer, { nowMs: FROM_MS }).certificate;

  it.each<[string, QualificationReason | undefined, readonly Listed[], ListOptions?, string?]>([
    ['the signer', undefined, [{}]],
    ['the CA', undefined, [{ certificates: [issuer.certificate] }]],
    ['the root, among other certificates of the service', undefined, [{ certificates: [below(root).certificate, root.certificate] }]],
    ['a CA above the configured trust anchor', undefined, [{ certificates: [above.certificate] }]],
    ['withdrawn later', undefined, [withdrawn('2026-12-01T00:00:00Z')]],
    ['one of two services', undefined, [withdrawn('2024-01-01T00:00:00Z'), {}]],
    ['since eIDAS, 1 July 2016 in Brussels', undefined, early, {}, '2016-06-30T22:00:00.000Z'],
    ['not before', 'before_eidas', early, {}, '2016-06-30T21:59:59.999Z'],
    ['no status yet', 'service_not_yet_granted', [{ status: 'undersupervision', since: '2026-12-01T00:00:00Z' }]],
    ['granted only later', 'service_not_yet_granted', [{ since: '2026-12-01T00:00:00Z' }]],
    ['another type of service', 'service_other_type', [{ type: 'TSA' }]],
    ['granted for another type', 'service_other_type', [{ type: 'TSA/TSS-QC' }]],
    ['withdrawn before', 'service_withdrawn', [withdrawn('2024-01-01T00:00:00Z')]],
    ['supervised but not granted', 'service_withdrawn', [{ status: 'undersupervision' }]],
    ['a list that had expired', 'list_expired', [{}], { nextUpdate: '2026-11-21T12:00:00Z' }],
    ['the same subject with another key', 'service_other_key', [{ certificates: [sameName] }]],
  ])('%s: %s', async (_, reason, services, options, time = genTime.toISOString()) => {
    const found = (await indexOf(services, options)).judge(chain, new Date(time), new Date(time));
    expect(found).toMatchObject({ reason, listed: { territory: 'SE', listNumber: 61, atProofOfExistence: null } });
  });

  it('says since when, whatever changed later, and the status at the proof of existence where it differs (DSS)', async () => {
    const renamed = await indexOf([{ since: '2026-01-01T00:00:00Z', history }]);
    expect(renamed.judge(chain, genTime, genTime)?.listed).toMatchObject({ since: '2017-05-01T00:00:00.000Z', serviceName: 'Stamps' });
    const time = '2027-01-01T00:00:00.000Z';
    const later = (await indexOf([withdrawn('2026-12-01T00:00:00Z')])).judge(chain, genTime, new Date(time));
    expect(later?.listed.atProofOfExistence).toEqual({ time, status: 'withdrawn', since: '2026-12-01T00:00:00.000Z' });
  });

  it('says nothing about a signer that no list knows', async () => {
    expect((await indexOf([{ certificates: [stranger.certificate] }])).judge(chain, genTime, genTime)).toBeUndefined();
  });
});

const namedKeysOf = (named: readonly SigningIdentity[]) => named.flatMap(({ certificate }) => certificatesIn(certificate));
const refused = (code: string) => ({ ok: false, code });

describe('the services of a list are trust anchors: names and keys (RFC 5280 §6.1.1 d)', () => {
  const key = x509.generateSigningKey('p-256');
  const noCertSign = [x509.basicConstraints(true), x509.keyUsage(x509.KEY_USAGE.digitalSignature)];
  const expired = ca(undefined, { key, name: 'Listed CA', notAfterMs: FROM_MS + DAY_MS });
  const signed = below(expired);

  test.each([
    ['an expired CA', expired, { ok: true }],
    ['the CA under another certificate of the same name and key', ca(root, { key, name: 'Listed CA' }), { ok: true }],
    ['the signer itself', signed, { ok: true }],
    ['not the name with another key', ca(undefined, { name: 'Listed CA' }), refused('chain_signature_invalid')],
    ['not the key with another name', ca(undefined, { key, name: 'Other CA' }), refused('untrusted_root')],
    ['not a CA without basicConstraints', ca(root, { key, name: 'Listed CA', extensions: [] }), refused('issuer_not_ca')],
    ['not a CA that must not certify', ca(root, { key, name: 'Listed CA', extensions: noCertSign }), refused('issuer_not_ca')],
  ])('%s', async (_, named, expected) => {
    const certificates = expected.ok ? [expired.certificate] : [];
    expect(await judgeRaw(tokenBy(signed, certificates), { namedKeys: namedKeysOf([named]) })).toMatchObject(expected);
  });
});

/** Judges as the service does, with these lists and trust anchors. */
const judgeBy = (index: ListIndex, anchors: readonly Buffer[], crls: readonly Buffer[] = [], providers: readonly object[] = []) => {
  const extraTrust = createTrustStore({ anchors, intermediates: [issuer.certificate], crls });
  const trust = { providers: providers as never, extraTrust };
  return createTokenJudge({ trust, lists: () => index, mockKey: async () => null as never, clock: () => LAB_NOW_MS }).judge;
};

describe('a thief with the key of a listed service', () => {
  const key = x509.generateSigningKey('p-256');
  const [nowMs, dayBefore, dayAfter] = [FROM_MS, LAB_NOW_MS - DAY_MS, LAB_NOW_MS + DAY_MS];
  const listed = issueSigner(issuer, { nowMs, key });
  const period = { number: 1n, thisUpdateMs: LAB_NOW_MS, nextUpdateMs: dayAfter };
  const crlOf = ({ serialNumber }: SigningIdentity, reason = 1, revokedAtMs = dayBefore, by = issuer) =>
    x509.issueCrl({ ...period, revoked: [{ serialNumber, revokedAtMs, reason }] }, by);
  const judged = (token: Buffer, named: readonly SigningIdentity[], crls: readonly Buffer[] = [], more: readonly Buffer[] = []) =>
    judgeRaw(token, { namedKeys: namedKeysOf(named), intermediates: [issuer.certificate, ...more], crls });
  const revoked = refused('certificate_revoked');
  const asCa = ca(undefined, { key, name: 'Development TSA' });

  test.each([
    ['the listed certificate itself', listed],
    ['a certificate issued by the key itself', issueSigner(listed, { nowMs, key })],
    ['another serial number, as if of the real CA', issueSigner({ ...issuer, privateKey: key.privateKey }, { nowMs, key })],
    ['a certificate of another CA', issueSigner(stranger, { nowMs, key })],
  ])('%s: revoked like the listed certificate, for the service too', async (_, identity) => {
    const token = tokenBy(identity, []);
    expect(await judged(token, [listed])).toMatchObject({ ok: true });
    expect(await judged(token, [listed], [crlOf(listed, 1, dayAfter)])).toMatchObject(revoked);
    expect(await judged(token, [listed], [crlOf(listed, 4)])).toMatchObject(revoked);
    // The key was kept, so that only later tokens are not valid (V10).
    const superseded = { status: 'revoked', reason: 'superseded', certificate: { der: listed.certificate } };
    expect(await judged(token, [listed], [crlOf(listed, 4, dayAfter)])).toMatchObject({ ok: true, revocation: [superseded] });
    // The list may be signed with a new key of the CA.
    const newKey = ca(root, { name: 'Time-stamping CA', serial: 8n });
    const crls = [crlOf(listed, 1, dayBefore, newKey)];
    expect(await judged(token, [listed], crls, [newKey.certificate, root.certificate])).toMatchObject(revoked);

    const index = await indexOf([{ certificates: [listed.certificate] }]);
    const text = token.toString('base64');
    expect(await judgeBy(index, [])(text)).toMatchObject({ ok: true, qualification: { status: 'qualified' } });
    for (const anchors of [[], [stranger.certificate]]) expect(await judgeBy(index, anchors, [crlOf(listed)])(text)).toMatchObject(revoked);
  });

  test('certifies nobody, whatever certificate stands for the key', async () => {
    const fresh = issueSigner(listed, { nowMs });
    const index = await indexOf([{ certificates: [listed.certificate] }]);
    for (const above of [listed, asCa, ca(stranger, { key, name: 'Development TSA' })]) {
      const token = tokenBy(fresh, [above.certificate]);
      expect(await judged(token, [listed])).toMatchObject(refused('issuer_not_ca'));
      expect(await judgeBy(index, [])(token.toString('base64'))).toMatchObject(refused('issuer_not_ca'));
    }
    for (const chain of [[fresh.certificate], [fresh.certificate, asCa.certificate]])
      expect(index.judge(chain, genTime, genTime)?.reason).toBe('service_other_key');
  });

  test('hides no revocation by a certificate that he makes for the listed CA', async () => {
    const withKeyOf = { ...key, publicKey: createPublicKey(issuer.privateKey) };
    const noLists = [x509.basicConstraints(true), x509.keyUsage(x509.KEY_USAGE.keyCertSign)];
    const forged = ca(listed, { key: withKeyOf, name: 'Time-stamping CA', extensions: noLists });
    expect(await judged(tokenBy(listed, [forged.certificate]), [issuer])).toMatchObject({ ok: true });
    expect(await judged(tokenBy(listed, [forged.certificate]), [issuer], [crlOf(listed)])).toMatchObject(revoked);
  });

  test('a listed CA that was revoked makes no token valid', async () => {
    const by = (of: SigningIdentity) => judged(tokenBy(signer, []), [issuer], [crlOf(of, 1, dayBefore, root)], [root.certificate]);
    expect([await by(issuer), await by(signer)]).toMatchObject([revoked, { ok: true }]);
  });

  test('a second listed certificate of the key counts by itself, unless the key was lost', async () => {
    const second = issueSigner(issuer, { nowMs, key });
    const renamed = issueSigner(issuer, { nowMs, key, commonName: 'New name' });
    const by = (of: SigningIdentity, named: SigningIdentity, reason: number) =>
      judged(tokenBy(of, []), [listed, named], [crlOf(listed, reason)]);
    expect(await by(second, second, 4)).toMatchObject({ ok: true, revocation: [{ status: 'good' }] });
    expect(await by(renamed, renamed, 4)).toMatchObject({ ok: true });
    for (const [of, named, reason] of [
      [issueSigner(listed, { nowMs, key }), second, 4],
      [second, second, 1],
      [renamed, renamed, 1],
    ] as const)
      expect(await by(of, named, reason)).toMatchObject(revoked);
  });
});

test('a trust anchor takes nothing away that a list grants', async () => {
  const other = ca(undefined, { name: 'Other root' });
  const key = x509.generateSigningKey('p-256');
  const [ofListed, ofOther] = [root, other].map((by) => ca(by, { key, name: 'Sub' })) as [SigningIdentity, SigningIdentity];
  const stamping = below(ofListed);
  const token = tokenBy(stamping, [ofOther.certificate, ofListed.certificate]).toString('base64');
  const index = await indexOf([{ certificates: [root.certificate] }]);
  for (const anchors of [[], [other.certificate], [ofOther.certificate], [stamping.certificate]]) {
    const verdict = await judgeBy(index, anchors)(token);
    expect(verdict).toMatchObject({ ok: true, qualification: { status: 'qualified', basis: 'list' } });
  }
});

test('a listed service vouches for strangers’ tokens, but not for a stamp that names a configured provider', async () => {
  const settings = { name: 'other-tsa', qualified: true, policyOid: undefined };
  const judge = judgeBy(await indexOf([{}]), [], [], [{ settings, trust: createTrustStore({ anchors: [stranger.certificate] }) }]);
  const token = tokenBy(signer, [issuer.certificate]).toString('base64');
  const qualification = { status: 'qualified', basis: 'list' };
  expect(await judge(token)).toMatchObject({ ok: true, provider: undefined, qualification });
  expect(await judge(token, { provider: 'gone-tsa' })).toMatchObject({ ok: true, isProviderKnown: false, qualification });
  expect(await judge(token, { provider: 'other-tsa' })).toMatchObject(refused('untrusted_root'));
});

test.each([
  ['a granted service', {}, { ok: true, qualification: { status: 'qualified' } }],
  ['a service that is listed and not granted', { status: 'withdrawn' }, refused('trust_store_empty')],
])('V12: evidence of a stranger, renewed by %s', async (_, status, expected) => {
  const renewer = below(stranger);
  const index = await indexOf([{}, { certificates: [renewer.certificate], ...status }]);
  const digest = hash('sha256', Buffer.from('content'));
  const stamp = (by: SigningIdentity, imprint: Buffer, timeMs: number) =>
    tokenIn(lab.specimen({ profile: { identity: by }, ask: { digest: imprint, nonce: undefined }, timeMs }).answer)!;
  const first = encodeEvidenceRecord('sha256', { token: stamp(signer, digest, LAB_NOW_MS - DAY_MS) });
  const { imprint } = timeStampRenewalOf(first);
  const record = addTimeStamp(first, { token: stamp(renewer, imprint.digest, LAB_NOW_MS) }, 'last_chain');
  expect(await judgeBy(index, [])(record.toString('base64'))).toMatchObject(expected);
});

test('a list may name a country by another code than ISO 3166', () => {
  expect([countryText('EL'), countryText('UK'), countryText('SE')]).toEqual(['Greece', 'United Kingdom', 'Sweden']);
});
