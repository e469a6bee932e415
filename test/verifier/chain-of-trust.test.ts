import { createPublicKey, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore, type TrustMaterial, TrustMaterialError } from '../../src/shared/rfc3161/x509/trust-store.ts';
import * as x509 from '../support/certificates.ts';
import { createPki, issueIntermediate, issueSigner } from '../support/certificates.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const lab = createTsaLab();
const { root, intermediate, signer } = lab.pki;
const token = lab.specimen().answer;
const anchors = [root.certificate];

const tsaExtensions = (key: KeyObject) => [
  x509.basicConstraints(false),
  x509.keyUsage(x509.KEY_USAGE.digitalSignature),
  x509.extendedKeyUsage([OID.timeStamping]),
  x509.subjectKeyIdentifier(key),
  x509.authorityKeyIdentifier(createPublicKey(intermediate.privateKey)),
];

function judge(material: TrustMaterial, answer = token, nowMs = LAB_NOW_MS): Promise<VerifyResult> {
  return verifyToken(answer, { trust: createTrustStore(material), nowMs });
}

describe('trust material', () => {
  const rootPem = x509.pem('CERTIFICATE', root.certificate);

  it.each<[string, TrustMaterial['anchors']]>([
    ['PEM as octets', [Buffer.from(rootPem)]],
    ['PEM with words around it and CRLF', [`Root of trust:\r\n${rootPem.replaceAll('\n', '\r\n')}the end`]],
    ['several blocks of PEM', [x509.pem('CERTIFICATE', createPki({ nowMs: LAB_NOW_MS }).root.certificate) + rootPem]],
    ['several files', [createPki({ nowMs: LAB_NOW_MS }).root.certificate, rootPem]],
  ])('is read as %s', async (_name, material) => {
    expect(await judge({ anchors: material })).toMatchObject({ ok: true });
  });

  it.each<[string, TrustMaterial]>([
    ['empty text', { anchors: [''] }],
    ['another text', { anchors: ['not a certificate'] }],
    ['a block without an end', { anchors: [rootPem.replace('-----END CERTIFICATE-----', '')] }],
    ['a block of another kind', { anchors: [rootPem.replaceAll('CERTIFICATE', 'PRIVATE KEY')] }],
    ['a certificate that is cut off', { anchors: [root.certificate.subarray(0, -1)] }],
    ['a certificate with an octet too many', { anchors: [Buffer.concat([root.certificate, Buffer.alloc(1)])] }],
    ['an intermediate that is none', { anchors, intermediates: ['nothing'] }],
    ['a list that is a certificate', { anchors, crls: [root.certificate] }],
    ['a list that is a block of a certificate', { anchors, crls: [rootPem] }],
  ])('is refused when the store is made: %s', (_name, material) => {
    expect(() => createTrustStore(material)).toThrow(TrustMaterialError);
  });

  it('without anchors trusts no signer, not even by an intermediate (42)', async () => {
    const intermediates = [root, intermediate, signer].map(({ certificate }) => certificate);
    expect(await judge({ anchors: [], intermediates })).toMatchObject({ ok: false, code: 'trust_store_empty' });
    const stranger = createPki({ nowMs: LAB_NOW_MS }).root.certificate;
    const known = intermediates.slice(1);
    expect(await judge({ anchors: [stranger], intermediates: known })).toMatchObject({ ok: false, code: 'untrusted_root' });
  });

  it('supplies certificates missing from a token, unless the request asked for them (32)', async () => {
    const { answer, asked } = lab.specimen({ ask: { certReq: false } });
    const intermediates = [x509.pem('CERTIFICATE', intermediate.certificate) + x509.pem('CERTIFICATE', signer.certificate)];
    expect(await judge({ anchors }, answer)).toMatchObject({ ok: false, code: 'signer_certificate_missing' });
    expect(await judge({ anchors, intermediates }, answer)).toMatchObject({ ok: true });

    const trust = createTrustStore({ anchors, intermediates });
    const fresh = { trust, nowMs: LAB_NOW_MS, sentAtMs: LAB_NOW_MS, receivedAtMs: LAB_NOW_MS };
    expect(await verifyResponse(answer, { ...fresh, request: asked.der })).toMatchObject({ ok: true });
    const askedFor = lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [] }) } });
    expect(await verifyResponse(askedFor.answer, { ...fresh, request: askedFor.asked.der })).toMatchObject({
      ok: false,
      code: 'signer_certificate_missing',
    });
  });

  it('names its anchors, and each result names its own', async () => {
    const trust = createTrustStore({ anchors: [createPki({ nowMs: LAB_NOW_MS }).root.certificate, root.certificate] });
    const result = await verifyToken(token, { trust, nowMs: LAB_NOW_MS });
    expect(result).toMatchObject({ ok: true, chain: [signer, intermediate, root].map(({ certificate }) => ({ der: certificate })) });
    if (result.ok) expect(trust.anchorFingerprints.indexOf(result.anchorFingerprint)).toBe(1);
  });
});

describe('revocation lists (44, RFC 3161 §4)', () => {
  const period = { number: 1n, thisUpdateMs: LAB_NOW_MS, nextUpdateMs: LAB_NOW_MS + DAY_MS };
  const revoking = (revokedAtMs: number, reason?: number, by: SigningIdentity = intermediate, { serialNumber } = signer) =>
    x509.issueCrl({ ...period, revoked: [{ serialNumber, revokedAtMs, ...(reason !== undefined && { reason }) }] }, by);

  it.each([
    ['before genTime, superseded', -DAY_MS, 4, false],
    ['at genTime, superseded', -250, 4, false],
    ['after genTime, unspecified', DAY_MS, 0, true],
    ['after genTime, affiliation changed', DAY_MS, 3, true],
    ['after genTime, superseded', DAY_MS, 4, true],
    ['after genTime, cessation of operation', DAY_MS, 5, true],
    ['after genTime, key compromise', DAY_MS, 1, false],
    ['after genTime, CA compromise', DAY_MS, 2, false],
    ['after genTime, no reason given', DAY_MS, undefined, false],
  ] as const)('revoked %s', async (_name, offsetMs, reason, ok) => {
    const result = await judge({ anchors, crls: [revoking(LAB_NOW_MS + offsetMs, reason)] });
    expect(result).toMatchObject(ok ? { ok } : { ok, code: 'certificate_revoked' });
  });

  it('the right one of several lists counts, in DER or PEM; a list of another issuer or with a wrong signature revokes nothing', async () => {
    const list = revoking(LAB_NOW_MS - DAY_MS, 1);
    const others = [x509.issueCrl({ ...period, revoked: [] }, root), x509.pem('X509 CRL', list)];
    expect(await judge({ anchors, crls: others })).toMatchObject({ ok: false, code: 'certificate_revoked' });
    const forged = revoking(LAB_NOW_MS - DAY_MS, 1, { ...intermediate, privateKey: otherKey });
    for (const crl of [revoking(LAB_NOW_MS - DAY_MS, 1, root), forged])
      expect(await judge({ anchors, crls: [crl] })).toMatchObject({ ok: true });
    // It is refused at once if its issuer is known.
    expect(() => createTrustStore({ anchors, intermediates: [intermediate.certificate], crls: [forged] })).toThrow(TrustMaterialError);
  });

  it('a list is ignored if its CA must not sign lists', () => {
    const key = x509.generateSigningKey('p-256');
    const template = { commonName: 'No lists', serial: 5n, notBeforeMs: LAB_NOW_MS - DAY_MS, notAfterMs: LAB_NOW_MS + DAY_MS };
    const extensions = [x509.basicConstraints(true), x509.keyUsage(x509.KEY_USAGE.keyCertSign)];
    const ca = x509.issueCertificate({ ...template, extensions }, key);
    const identity = issueSigner(ca, { nowMs: LAB_NOW_MS });
    const list = revoking(LAB_NOW_MS - DAY_MS, 1, ca, identity);
    expect(() => createTrustStore({ anchors: [ca.certificate], crls: [list] })).toThrow(TrustMaterialError);
  });

  const toSeconds = (timeMs: number) => genTimeText(Math.floor(timeMs / 1000) * 1000);
  const timeOf = (timeMs: number) => der.generalizedTime(toSeconds(timeMs));
  const utcOf = (timeMs: number) => der.utcTime(toSeconds(timeMs).slice(2));

  interface ListParts {
    /** Days before and after genTime; `null`: the list does not say when the next one is due. */
    readonly from?: number;
    readonly to?: number | null;
    /** DER of its entries, and of its own extensions. */
    readonly entries?: readonly Buffer[];
    readonly extensions?: readonly Buffer[];
    readonly key?: KeyObject;
  }

  /** A handmade list of the signer's CA, because issueCrl writes only good ones. */
  function listOf({ from = 0, to = 1, entries = [], extensions = [], key = intermediate.privateKey }: ListParts = {}): Buffer {
    const { scheme, subjectName } = intermediate;
    const body = der.sequence(
      der.integer(1),
      scheme.certificateAlgorithm,
      subjectName,
      utcOf(LAB_NOW_MS + from * DAY_MS),
      ...(to === null ? [] : [utcOf(LAB_NOW_MS + to * DAY_MS)]),
      ...(entries.length === 0 ? [] : [der.sequence(...entries)]),
      ...(extensions.length === 0 ? [] : [der.contextConstructed(0, der.sequence(...extensions))]),
    );
    return der.sequence(body, scheme.certificateAlgorithm, der.bitString(scheme.sign(body, key)));
  }
  const entryOf = (extensions: readonly Buffer[] = [], atMs = LAB_NOW_MS) =>
    der.sequence(signer.serialNumber, utcOf(atMs), ...(extensions.length === 0 ? [] : [der.sequence(...extensions)]));
  /** A list that revokes the signer, with extensions of the list and of its entry. */
  const listWith = (extensions: readonly Buffer[], entry: readonly Buffer[] = []) =>
    listOf({ to: null, entries: [entryOf(entry)], extensions });
  const reasonOf = (code: number) => x509.extension('2.5.29.21', false, der.enumerated(code));
  const distributionPoint = (...members: readonly Buffer[]) => x509.extension('2.5.29.28', true, der.sequence(...members));
  const scoped = (...members: readonly Buffer[]) => listOf({ extensions: [distributionPoint(...members)] });
  const place = (url: string) => der.contextConstructed(0, der.contextConstructed(0, der.contextPrimitive(6, Buffer.from(url))));
  const flag = (member: number) => der.contextPrimitive(member, der.boolean(true).subarray(2));
  const otherKey = x509.generateSigningKey('p-256').privateKey;

  /** The outer algorithm, which is not signed, becomes ecdsa-with-SHA384. */
  function twoAlgorithms(list: Buffer): Buffer {
    const bent = Buffer.from(list);
    const oid = der.objectIdentifier(OID.ecdsaWithSha256);
    bent[bent.lastIndexOf(oid) + oid.length - 1] = 3;
    return bent;
  }

  it.each([
    ['no list', [], 'unknown', 'no_list'],
    ['a list of its issuer', [listOf()], 'good'],
    ['a list that was in force at genTime', [listOf({ from: -2, to: 1 })], 'good'],
    ['a list that was no longer in force', [listOf({ from: -2, to: -1 })], 'unknown', 'outdated'],
    ['a list without a next one, before genTime', [listOf({ from: -2, to: null })], 'unknown', 'outdated'],
    ['a later list', [listOf({ from: 30, to: 31 })], 'good'],
    ['a list from after the end of the certificate', [listOf({ from: 4000, to: 4001 })], 'unknown', 'after_end'],
    ['a list of user certificates', [scoped(flag(1))], 'good'],
    ['a list of CA certificates', [scoped(flag(2))], 'unknown', 'not_covered'],
    ['a list for some reasons', [scoped(der.contextPrimitive(3, Buffer.of(6, 0x40)))], 'unknown', 'not_covered'],
    ['a list for another place', [scoped(place('http://a.example/1.crl'))], 'unknown', 'not_covered'],
    ['a list that another key signed', [listOf({ key: otherKey })], 'unknown', 'other_signer'],
    ['a list from before the certificate', [listOf({ from: -400, to: 1 })], 'unknown', 'before_start'],
    ['an old list and a later one', [listOf({ from: -2, to: -1 }), listOf({ from: 1, to: 2 })], 'good'],
  ] as const)('V10: the status of the signer by %s', async (_name, crls, status, why?: string) => {
    const result = await judge({ anchors, crls }, token, LAB_NOW_MS + 5_000 * DAY_MS);
    expect(result.ok && result.revocation[0]).toMatchObject({
      status,
      ...(why && { why }),
      certificate: { subject: expect.stringContaining('TSA') },
    });
    expect(result.ok && result.unchecked.includes('revocation')).toBe(true); // No list of the root is there.
  });

  it.each([
    ['a key that was lost before', 1, -DAY_MS, 10 * DAY_MS, false],
    ['a certificate that was not good before', 4, -DAY_MS, 10 * DAY_MS, false],
    ['a certificate that was good then', 4, DAY_MS, 10 * DAY_MS, true],
  ])('the invalidityDate of a revocation counts (RFC 5280 §5.3.2): %s', async (_name, reason, sinceMs, revokedMs, ok) => {
    const since = x509.extension('2.5.29.24', false, timeOf(LAB_NOW_MS + sinceMs));
    const entries = [entryOf([reasonOf(reason), since], LAB_NOW_MS + revokedMs)];
    const result = await judge({ anchors, crls: [listOf({ to: null, entries })] });
    expect(result).toMatchObject(ok ? { ok } : { ok, code: 'certificate_revoked' });
  });

  it('V10: a list for one distribution point covers only the certificates that name it', async () => {
    const at = 'http://a.example/1.crl';
    const names = (url: string) => x509.extension('2.5.29.31', false, der.sequence(der.sequence(place(url))));
    const statusFor = async (url: string) => {
      const identity = lab.signer({ extensions: (key) => [...tsaExtensions(key), names(url)] });
      const crls = [scoped(place(at))];
      const result = await judge({ anchors, crls }, lab.specimen({ profile: { identity } }).answer);
      return result.ok && result.revocation[0]?.status;
    };
    expect([await statusFor(at), await statusFor('http://a.example/2.crl')]).toEqual(['good', 'unknown']);
  });

  it('V10: reports a later revocation without key compromise, which does no harm, and does not count a good list from the future', async () => {
    const revokedAt = new Date(Math.floor((LAB_NOW_MS + DAY_MS) / 1000) * 1000);
    for (const [list, status] of [
      [revoking(LAB_NOW_MS + DAY_MS, 4), { status: 'revoked', revokedAt, reason: 'superseded' }],
      [listOf({ from: 1, to: 2 }), { status: 'unknown', why: 'future' }],
    ] as const)
      expect(await judge({ anchors, crls: [list] })).toMatchObject({ ok: true, revocation: [status, { status: 'unknown' }] });
  });

  describe('V10: a signer that is the trust anchor itself', () => {
    const own = [signer.certificate];
    /** Certificates that a stranger makes with the name of the issuer. */
    const namesakes = Array.from({ length: 8 }, () => createPki({ nowMs: LAB_NOW_MS - DAY_MS }).intermediate.certificate);
    it.each([
      ['is not known to be good without a list', [], { ok: true, revocation: [{ status: 'unknown', why: 'no_list' }] }],
      [
        'is not known to be good if the certificate of its issuer is missing',
        [listOf()],
        { ok: true, revocation: [{ status: 'unknown', why: 'issuer_unknown' }] },
        lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [signer.certificate] }) } }).answer,
        [],
      ],
      ['is good by a list of its issuer', [listOf()], { ok: true, revocation: [{ status: 'good' }], unchecked: ['imprint'] }],
      ['is revoked by a list of its issuer', [revoking(LAB_NOW_MS - DAY_MS, 1)], { ok: false, code: 'certificate_revoked' }],
      [
        'is revoked whatever else is in the token',
        [revoking(LAB_NOW_MS - DAY_MS, 1)],
        { ok: false, code: 'certificate_revoked' },
        lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [...namesakes, ...parts.certificates] }) } }).answer,
      ],
      [
        'is revoked by nobody else',
        [revoking(LAB_NOW_MS - DAY_MS, 1, { ...intermediate, privateKey: otherKey })],
        { ok: true, revocation: [{ status: 'unknown', why: 'other_signer' }] },
      ],
    ] as const)('%s', async (_name, crls, expected, answer = token, intermediates: readonly Buffer[] = [intermediate.certificate]) => {
      expect(await judge({ anchors: own, intermediates, crls: [] }, answer)).toMatchObject({ ok: true });
      const trust = { ...createTrustStore({ anchors: own, intermediates }), crls: createTrustStore({ anchors: [], crls }).crls };
      expect(await verifyToken(answer, { trust, nowMs: LAB_NOW_MS })).toMatchObject(expected);
    });
  });

  it('V10: a later key of the issuer may sign its lists if the CA above certified it', async () => {
    const later = issueIntermediate(root, { algorithm: 'p-256', nowMs: LAB_NOW_MS - DAY_MS });
    const forged = issueIntermediate(createPki({ nowMs: LAB_NOW_MS - DAY_MS }).root, { algorithm: 'p-256', nowMs: LAB_NOW_MS - DAY_MS });
    const ended = issueIntermediate(root, { algorithm: 'p-256', nowMs: LAB_NOW_MS - DAY_MS, notAfterMs: LAB_NOW_MS - 2_000 });
    const empty = (by: SigningIdentity) => x509.issueCrl({ ...period, revoked: [] }, by);
    const statusBy = async (ca: SigningIdentity, crls = [empty(ca)]) => {
      const result = await judge({ anchors, intermediates: [ca.certificate], crls });
      return result.ok && result.revocation[0];
    };
    const unknown = { status: 'unknown', why: 'other_signer' };
    expect(await statusBy(later)).toMatchObject({ status: 'good' });
    for (const ca of [ended, forged]) expect(await statusBy(ca)).toMatchObject(unknown);
    const stolen = revoking(LAB_NOW_MS + DAY_MS, 1, root, later);
    expect(await statusBy(later, [empty(later), stolen])).toMatchObject(unknown);
  });

  it('without nextUpdate and for user certificates only, a list revokes the certificates that it names', async () => {
    for (const list of [listWith([]), listWith([distributionPoint(flag(1))])])
      expect(await judge({ anchors, crls: [list] })).toMatchObject({ ok: false, code: 'certificate_revoked' });
  });

  it.each([
    ['a delta', listWith([x509.extension('2.5.29.27', true, der.integer(1))])],
    ['a delta that does not say that it is critical', listWith([x509.extension('2.5.29.27', false, der.integer(1))])],
    ['with two signature algorithms', twoAlgorithms(listWith([]))],
    ['over other issuers’ certificates', listWith([distributionPoint(flag(4))])],
    ['over attribute certificates', listWith([distributionPoint(flag(5))])],
    ['critical in a way that is not known', listWith([x509.extension('2.999.1', true, der.nullValue())])],
    ['with a reason that is no number', listWith([], [x509.extension('2.5.29.21', false, der.octetString(Buffer.of(4)))])],
    ['with two reasons', listWith([], [1, 4].map(reasonOf))],
    ['for users only, and for CAs only', listWith([distributionPoint(flag(1), flag(2))])],
    ['with two distribution points', listWith([distributionPoint(flag(1)), distributionPoint(flag(2))])],
    ['with a member of its distribution point that nobody knows', listWith([distributionPoint(flag(6))])],
    ['that names a certificate twice', listOf({ to: null, entries: [entryOf(), entryOf()] })],
    ['that is due before it was made', listOf({ from: 1, to: 0 })],
    ['with an entry of another issuer', listWith([], [x509.extension('2.5.29.29', true, der.sequence())])],
  ])('is refused when the store is made: %s', (_name, list) => {
    expect(() => createTrustStore({ anchors, crls: [list] })).toThrow(TrustMaterialError);
  });
});
