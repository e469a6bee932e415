import { createPublicKey } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import type { QualificationReason } from '../../src/shared/domain/qualification.ts';
import { qualifiedSentence } from '../../src/shared/domain/qualified-sentence.ts';
import { certificatesIn, createTrustStore, type SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { createListIndex, openListThread } from '../../src/shared/trust/lists/index.ts';
import * as x509 from '../../src/tsa/certificate.ts';
import { issueSigner } from '../../src/tsa/pki.ts';
import { below, ca, FROM_MS, judgeRaw, tokenBy } from '../support/chain-lab.ts';
import { newListSigner } from '../support/list-server.ts';
import { type ListedService, type ListOptions, makeTrustedList } from '../support/trusted-lists.ts';
import { DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const above = ca(undefined, { name: 'Old root' });
const root = ca(above, { name: 'Root' });
const issuer = ca(root, { name: 'Time-stamping CA' });
const signer = below(issuer);
const chain = [signer.certificate, issuer.certificate, root.certificate];
const genTime = new Date(LAB_NOW_MS);

const listSigner = newListSigner('Utopia');
const reader = openListThread();

type Listed = Partial<ListedService>;
const granted: ListedService = {
  type: 'TSA/QTST',
  name: 'Stamps',
  status: 'granted',
  since: '2018-03-01T00:00:00Z',
  certificates: [signer.certificate],
};

/** The lists as a service reads them. */
async function indexOf(services: readonly Listed[], options: ListOptions = {}) {
  const providers = [{ name: 'Acme', services: services.map((service) => ({ ...granted, ...service })) }];
  const document = makeTrustedList({ territory: 'SE', sequenceNumber: 61, providers, signed: listSigner, ...options });
  return createListIndex([await reader.read(document, [listSigner.certificate])]);
}

const judge = async (services: readonly Listed[], options?: ListOptions, time = genTime, existedBy = time) =>
  (await indexOf(services, options)).judge(chain, time, existedBy);

describe('a time-stamp is qualified if its signer, or a CA above it, is granted at genTime', () => {
  const history = [{ type: 'TSA/QTST', name: 'Old name', status: 'granted', since: '2017-05-01T00:00:00Z' }];

  it.each<[string, Listed]>([
    ['the signer', {}],
    ['the CA', { certificates: [issuer.certificate] }],
    ['the root', { certificates: [root.certificate] }],
    ['among other certificates of the service', { certificates: [below(root).certificate, signer.certificate] }],
    ['with a change of name since', { since: '2026-01-01T00:00:00Z', history }],
    ['a CA above the configured trust anchor', { certificates: [above.certificate] }],
    ['and withdrawn later', { status: 'withdrawn', since: '2026-12-01T00:00:00Z', history }],
  ])('%s', async (_, service) => {
    expect(await judge([service])).toMatchObject({ reason: undefined, listed: { territory: 'SE', listNumber: 61, status: 'granted' } });
  });

  it('counts a grant from its beginning, whatever changed since', async () => {
    const found = await judge([{ since: '2026-01-01T00:00:00Z', history }]);
    expect(found?.listed).toMatchObject({ since: '2017-05-01T00:00:00.000Z', serviceName: 'Stamps' });
  });

  it.each<[string, QualificationReason, readonly Listed[], ListOptions?]>([
    ['no status yet', 'service_not_yet_granted', [{ status: 'undersupervision', since: '2026-12-01T00:00:00Z' }]],
    ['another type of service', 'service_other_type', [{ type: 'TSA' }]],
    ['granted for another type', 'service_other_type', [{ type: 'TSA/TSS-QC' }]],
    ['granted only later', 'service_not_yet_granted', [{ since: '2026-12-01T00:00:00Z' }]],
    ['withdrawn before', 'service_withdrawn', [{ status: 'withdrawn', since: '2024-01-01T00:00:00Z', history }]],
    ['supervised but not granted', 'service_withdrawn', [{ status: 'undersupervision' }]],
    ['a list that had expired', 'list_expired', [{}], { nextUpdate: '2026-11-21T12:00:00Z' }],
    ['the same subject with another key', 'service_other_key', [{ certificates: [issueSigner(issuer, { nowMs: FROM_MS }).certificate] }]],
  ])('not: %s', async (_, reason, services, options) => {
    expect((await judge(services, options))?.reason).toBe(reason);
  });

  it('not before 1 July 2016 in Brussels', async () => {
    const early = [{ since: '2010-01-01T00:00:00Z' }];
    expect((await judge(early, {}, new Date('2016-06-30T21:59:59.999Z')))?.reason).toBe('before_eidas');
    expect((await judge(early, {}, new Date('2016-06-30T22:00:00.000Z')))?.reason).toBeUndefined();
  });

  it('if one of two services grants it', async () => {
    expect((await judge([{ status: 'withdrawn', since: '2024-01-01T00:00:00Z' }, {}]))?.reason).toBeUndefined();
  });

  it('and nothing is said about a signer that no list knows', async () => {
    const stranger = ca(undefined, { name: 'Stranger' });
    expect(await judge([{ certificates: [stranger.certificate] }])).toBeUndefined();
    expect(createListIndex([]).judge(chain, genTime, genTime)).toBeUndefined();
  });

  it('also says the status at the proof of existence, where it differs (DSS)', async () => {
    const withdrawn = [{ status: 'withdrawn', since: '2026-12-01T00:00:00Z', history }];
    const later = new Date('2027-01-01T00:00:00Z');
    expect((await judge(withdrawn, {}, genTime, later))?.listed.atProofOfExistence).toEqual({
      time: later.toISOString(),
      status: 'withdrawn',
      since: '2026-12-01T00:00:00.000Z',
    });
    expect((await judge(withdrawn))?.listed.atProofOfExistence).toBeNull();
  });
});

describe('the services of a list are trust anchors: names and keys (RFC 5280 §6.1.1 d)', () => {
  const key = x509.generateSigningKey('p-256');
  const noCertSign = [x509.basicConstraints(true), x509.keyUsage(x509.KEY_USAGE.digitalSignature)];
  const expired = ca(undefined, { key, name: 'Listed CA', notAfterMs: FROM_MS + DAY_MS });
  const signed = below(expired);

  test.each([
    ['an expired CA', [expired.certificate]],
    ['the CA under another certificate of the same name and key', [ca(root, { key, name: 'Listed CA' }).certificate]],
    ['the signer itself', [signed.certificate]],
  ])('%s', async (_, namedKeys) => {
    const token = tokenBy(signed, [expired.certificate]);
    expect(await judgeRaw(token, { namedKeys: namedKeys.flatMap((der) => certificatesIn(der)) })).toMatchObject({ ok: true });
    expect(await judgeRaw(token, { anchors: [expired.certificate] })).toMatchObject({
      ok: false,
      code: 'certificate_not_valid_at_gen_time',
    });
  });

  test.each([
    ['the name with another key', [ca(undefined, { name: 'Listed CA' }).certificate], 'chain_signature_invalid'],
    ['the key with another name', [ca(undefined, { key, name: 'Other CA' }).certificate], 'untrusted_root'],
    ['a CA without basicConstraints', [ca(root, { key, name: 'Listed CA', extensions: [] }).certificate], 'issuer_not_ca'],
    ['a CA that must not certify', [ca(root, { key, name: 'Listed CA', extensions: noCertSign }).certificate], 'issuer_not_ca'],
  ])('not: %s', async (_, namedKeys, code) => {
    expect(await judgeRaw(tokenBy(signed, []), { namedKeys: namedKeys.flatMap((der) => certificatesIn(der)) })).toMatchObject({
      ok: false,
      code,
    });
  });
});

describe('a thief with the key of a listed service', () => {
  const key = x509.generateSigningKey('p-256');
  const [nowMs, dayBefore] = [FROM_MS, LAB_NOW_MS - DAY_MS];
  const listed = issueSigner(issuer, { nowMs, key });
  const crlOf = (of: SigningIdentity, revokedAtMs = dayBefore, reason?: number, by = issuer) =>
    x509.issueCrl(
      {
        number: 1n,
        thisUpdateMs: LAB_NOW_MS,
        nextUpdateMs: LAB_NOW_MS + DAY_MS,
        revoked: [{ serialNumber: of.serialNumber, revokedAtMs, ...(reason === undefined ? {} : { reason }) }],
      },
      by,
    );
  const judgeBy = (token: Buffer, named: readonly SigningIdentity[], ...crls: readonly Buffer[]) =>
    judgeRaw(token, {
      namedKeys: named.flatMap(({ certificate }) => certificatesIn(certificate)),
      intermediates: [issuer.certificate],
      crls,
    });
  const revoked = { ok: false, code: 'certificate_revoked' };

  const stranger = ca(undefined, { name: 'Stranger' });
  const made: [string, SigningIdentity][] = [
    ['the listed certificate itself', listed],
    ['a certificate issued by the key itself', issueSigner(listed, { nowMs, key })],
    ['another serial number, as if of the real CA', issueSigner({ ...issuer, privateKey: key.privateKey }, { nowMs, key })],
    ['a certificate of another CA', issueSigner(stranger, { nowMs, key })],
  ];
  test.each(made)('%s: revoked like the listed certificate', async (_, identity) => {
    const token = tokenBy(identity, []);
    expect(await judgeBy(token, [listed])).toMatchObject({ ok: true });
    expect(await judgeBy(token, [listed], crlOf(listed))).toMatchObject(revoked);
    expect(await judgeBy(token, [listed], crlOf(listed, LAB_NOW_MS + DAY_MS, 1))).toMatchObject(revoked);
    // The key was kept, so that only later tokens are not valid (V10).
    expect(await judgeBy(token, [listed], crlOf(listed, LAB_NOW_MS + DAY_MS, 4))).toMatchObject({
      ok: true,
      revocation: [{ status: 'revoked', reason: 'superseded', certificate: { der: listed.certificate } }],
    });
    expect(await judgeBy(token, [listed], crlOf(listed, dayBefore, 4))).toMatchObject(revoked);
  });

  test('certifies nobody, whatever certificate stands for the key', async () => {
    const fresh = issueSigner(listed, { nowMs });
    const asCa = ca(undefined, { key, name: 'Development TSA' });
    for (const above of [listed, asCa, ca(stranger, { key, name: 'Development TSA' })]) {
      expect(await judgeBy(tokenBy(fresh, [above.certificate]), [listed])).toMatchObject({ ok: false, code: 'issuer_not_ca' });
    }
    const index = await indexOf([{ certificates: [listed.certificate] }]);
    for (const chain of [[fresh.certificate], [fresh.certificate, asCa.certificate]])
      expect(index.judge(chain, genTime, genTime)?.reason).toBe('service_other_key');
  });

  test('hides no revocation by a certificate that he makes for the listed CA', async () => {
    const withKeyOf = { ...key, publicKey: createPublicKey(issuer.privateKey) };
    const noLists = [x509.basicConstraints(true), x509.keyUsage(x509.KEY_USAGE.keyCertSign)];
    const forged = ca(listed, { key: withKeyOf, name: 'Time-stamping CA', extensions: noLists });
    const token = tokenBy(listed, [forged.certificate]);
    expect(await judgeBy(token, [issuer])).toMatchObject({ ok: true });
    expect(await judgeBy(token, [issuer], crlOf(listed))).toMatchObject(revoked);
  });

  test('a listed CA that was revoked makes no token valid', async () => {
    const material = { namedKeys: certificatesIn(issuer.certificate), intermediates: [root.certificate] };
    const token = tokenBy(signer, []);
    expect(await judgeRaw(token, { ...material, crls: [crlOf(issuer, dayBefore, 1, root)] })).toMatchObject(revoked);
    expect(await judgeRaw(token, { ...material, crls: [crlOf(signer, dayBefore, 1, root)] })).toMatchObject({ ok: true });
  });

  test('a second listed certificate of the key counts by itself, unless the key was lost', async () => {
    const second = issueSigner(issuer, { nowMs, key });
    const [bySecond, byOther] = [tokenBy(second, []), tokenBy(issueSigner(listed, { nowMs, key }), [])];
    const both = [listed, second];
    expect(await judgeBy(bySecond, both, crlOf(listed, dayBefore, 4))).toMatchObject({ ok: true, revocation: [{ status: 'good' }] });
    expect(await judgeBy(byOther, both, crlOf(listed, dayBefore, 4))).toMatchObject(revoked);
    expect(await judgeBy(bySecond, both, crlOf(listed, dayBefore, 1))).toMatchObject(revoked);
    const renamed = issueSigner(issuer, { nowMs, key, commonName: 'New name' });
    expect(await judgeBy(tokenBy(renamed, []), [listed, renamed], crlOf(listed, dayBefore, 1))).toMatchObject(revoked);
    expect(await judgeBy(tokenBy(renamed, []), [listed, renamed], crlOf(listed, dayBefore, 4))).toMatchObject({ ok: true });
  });

  test('the list may be signed with a new key of the CA', async () => {
    const newKey = ca(root, { name: 'Time-stamping CA', serial: 8n });
    const crls = [crlOf(listed, dayBefore, 1, newKey)];
    const intermediates = [issuer.certificate, newKey.certificate, root.certificate];
    const token = tokenBy(made[1]![1], []);
    expect(await judgeRaw(token, { namedKeys: certificatesIn(listed.certificate), intermediates, crls })).toMatchObject(revoked);
  });

  test('is found by the service too, by its revocation lists and certificates, also beside a trust anchor of its own', async () => {
    const index = await indexOf([{ certificates: [listed.certificate] }]);
    const judgeWith = (anchors: readonly Buffer[], crls: readonly Buffer[]) => {
      const trust = { providers: [], extraTrust: createTrustStore({ anchors, intermediates: [issuer.certificate], crls }) };
      return createTokenJudge({ trust, lists: () => index, mockKey: async () => null as never, clock: () => LAB_NOW_MS }).judge;
    };
    for (const [, identity] of made) {
      const token = tokenBy(identity, []).toString('base64');
      expect(await judgeWith([], [])(token)).toMatchObject({ ok: true, qualification: { status: 'qualified' } });
      expect(await judgeWith([], [crlOf(listed)])(token)).toMatchObject(revoked);
      expect(await judgeWith([stranger.certificate], [crlOf(listed)])(token)).toMatchObject(revoked);
    }
    const byFresh = tokenBy(issueSigner(listed, { nowMs }), [ca(undefined, { key, name: 'Development TSA' }).certificate]);
    expect(await judgeWith([], [])(byFresh.toString('base64'))).toMatchObject({ ok: false, code: 'issuer_not_ca' });
  });
});

test('a trust anchor takes nothing away that a list grants', async () => {
  const other = ca(undefined, { name: 'Other root' });
  const key = x509.generateSigningKey('p-256');
  const [ofListed, ofOther] = [root, other].map((by) => ca(by, { key, name: 'Sub' }));
  const stamping = below(ofListed!);
  const token = tokenBy(stamping, [ofOther!.certificate, ofListed!.certificate]).toString('base64');
  const index = await indexOf([{ certificates: [root.certificate] }]);
  for (const anchors of [[], [other.certificate], [ofOther!.certificate], [stamping.certificate]]) {
    const trust = { providers: [], extraTrust: createTrustStore({ anchors }) };
    const { judge: judgeToken } = createTokenJudge({
      trust,
      lists: () => index,
      mockKey: async () => null as never,
      clock: () => LAB_NOW_MS,
    });
    expect(await judgeToken(token)).toMatchObject({ ok: true, qualification: { status: 'qualified', basis: 'list' } });
  }
});

test('a listed service vouches for strangers’ tokens, but not for a stamp that names a configured provider', async () => {
  const index = await indexOf([{}]);
  const settings = { name: 'other-tsa', qualified: true, policyOid: undefined } as never;
  const other = createTrustStore({ anchors: [ca(undefined, { name: 'Other root' }).certificate] });
  const trust = { providers: [{ settings, trust: other }], extraTrust: createTrustStore({ anchors: [] }) };
  const { judge: judgeToken } = createTokenJudge({
    trust,
    lists: () => index,
    mockKey: async () => null as never,
    clock: () => LAB_NOW_MS,
  });
  const token = tokenBy(signer, [issuer.certificate]).toString('base64');
  expect(await judgeToken(token)).toMatchObject({ ok: true, provider: undefined, qualification: { status: 'qualified', basis: 'list' } });
  expect(await judgeToken(token, 'gone-tsa')).toMatchObject({ ok: true, isProviderKnown: false, qualification: { status: 'qualified' } });
  expect(await judgeToken(token, 'other-tsa')).toMatchObject({ ok: false, code: 'untrusted_root' });
});

test('one sentence says who says what', async () => {
  const sentence = async (services: readonly Listed[], options?: ListOptions) => {
    const { reason, listed } = (await judge(services, options))!;
    return qualifiedSentence({ status: reason ? 'not_qualified' : 'qualified', basis: 'list', reason: reason ?? null, listed });
  };
  expect(await sentence([{}])).toBe(
    'Qualified: the service “Stamps” of Acme is listed in Sweden’s trusted list no. 61 as granted since 1 March 2018.',
  );
  expect(await sentence([{ status: 'withdrawn', since: '2024-01-01T00:00:00Z' }], { territory: 'EL' })).toBe(
    'Not qualified: Greece’s trusted list no. 61 has the service “Stamps” of Acme as withdrawn since 1 January 2024.',
  );
  expect(qualifiedSentence({ status: 'qualified', basis: 'operator', reason: null, listed: null })).toMatch(/as claimed by the operator/);
});
