import { describe, expect, it } from 'vitest';
import {
  bitString,
  boolean,
  contextConstructed,
  contextPrimitive,
  integer,
  nullValue,
  objectIdentifier,
  sequence,
  utcTime,
} from '../../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../../src/shared/rfc3161/asn1/oids.ts';
import type { SigningIdentity } from '../../../src/shared/rfc3161/issue/issue.ts';
import type { VerifyResult } from '../../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore, type TrustMaterial, TrustMaterialError } from '../../../src/shared/rfc3161/x509/trust-store.ts';
import {
  basicConstraints,
  extension,
  generateSigningKey,
  issueCertificate,
  issueCrl,
  KEY_USAGE,
  keyUsage,
  pem,
} from '../../../src/tsa/certificate.ts';
import { createPki, issueSigner } from '../../../src/tsa/pki.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../../support/tsa-lab.ts';

const lab = createTsaLab();
const { root, intermediate, signer } = lab.pki;
const token = lab.specimen().answer;
const anchors = [root.certificate];

function judge(material: TrustMaterial, answer = token): VerifyResult {
  return verifyToken(answer, { trust: createTrustStore(material), nowMs: LAB_NOW_MS });
}

describe('trust material', () => {
  const rootPem = pem('CERTIFICATE', root.certificate);

  it.each<[string, TrustMaterial['anchors']]>([
    ['DER', [root.certificate]],
    ['PEM', [rootPem]],
    ['PEM as octets', [Buffer.from(rootPem)]],
    ['PEM with words around it and CRLF', [`Root of trust:\r\n${rootPem.replaceAll('\n', '\r\n')}the end`]],
    ['several blocks of PEM', [pem('CERTIFICATE', createPki({ nowMs: LAB_NOW_MS }).root.certificate) + rootPem]],
    ['several files', [createPki({ nowMs: LAB_NOW_MS }).root.certificate, rootPem]],
  ])('is read as %s', (_name, material) => {
    expect(judge({ anchors: material })).toMatchObject({ ok: true });
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

  it('without anchors trusts nobody (42)', () => {
    expect(judge({ anchors: [] })).toMatchObject({ ok: false, code: 'trust_store_empty' });
    expect(judge({ anchors: [], intermediates: [root.certificate] })).toMatchObject({ ok: false, code: 'trust_store_empty' });
  });

  it('trusts no intermediate for itself', () => {
    const stranger = createPki({ nowMs: LAB_NOW_MS });
    expect(judge({ anchors: [stranger.root.certificate], intermediates: [intermediate.certificate, signer.certificate] })).toMatchObject({
      ok: false,
      code: 'untrusted_root',
    });
  });

  it('stands in for certificates that a token lacks, unless they were asked for (32)', () => {
    const { answer, asked } = lab.specimen({ ask: { certReq: false } });
    const intermediates = [pem('CERTIFICATE', intermediate.certificate) + pem('CERTIFICATE', signer.certificate)];
    expect(judge({ anchors }, answer)).toMatchObject({ ok: false, code: 'signer_certificate_missing' });
    expect(judge({ anchors, intermediates }, answer)).toMatchObject({ ok: true });

    const trust = createTrustStore({ anchors, intermediates });
    const fresh = { trust, nowMs: LAB_NOW_MS, sentAtMs: LAB_NOW_MS, receivedAtMs: LAB_NOW_MS };
    expect(verifyResponse(answer, { ...fresh, request: asked.der })).toMatchObject({ ok: true });
    const askedFor = lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [] }) } });
    expect(verifyResponse(askedFor.answer, { ...fresh, request: askedFor.asked.der })).toMatchObject({
      ok: false,
      code: 'signer_certificate_missing',
    });
  });

  it('names its anchors, and each result its own', () => {
    const trust = createTrustStore({ anchors: [createPki({ nowMs: LAB_NOW_MS }).root.certificate, root.certificate] });
    const result = verifyToken(token, { trust, nowMs: LAB_NOW_MS });
    expect(result).toMatchObject({ ok: true, chain: [signer, intermediate, root].map(({ certificate }) => ({ der: certificate })) });
    if (result.ok) expect(trust.anchorFingerprints.indexOf(result.anchorFingerprint)).toBe(1);
  });
});

describe('revocation lists (44, RFC 3161 §4)', () => {
  const period = { number: 1n, thisUpdateMs: LAB_NOW_MS, nextUpdateMs: LAB_NOW_MS + DAY_MS };
  const revoking = (revokedAtMs: number, reason?: number, by: SigningIdentity = intermediate, of: SigningIdentity = signer) =>
    issueCrl({ ...period, revoked: [{ serialNumber: of.serialNumber, revokedAtMs, ...(reason === undefined ? {} : { reason }) }] }, by);

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
  ] as const)('revoked %s', (_name, offsetMs, reason, ok) => {
    const result = judge({ anchors, crls: [revoking(LAB_NOW_MS + offsetMs, reason)] });
    expect(result).toMatchObject(ok ? { ok } : { ok, code: 'certificate_revoked' });
  });

  it('PEM and DER, and one of several lists', () => {
    const list = revoking(LAB_NOW_MS - DAY_MS, 1);
    expect(judge({ anchors, crls: [issueCrl({ ...period, revoked: [] }, root), pem('X509 CRL', list)] })).toMatchObject({ ok: false });
  });

  it('a list revokes certificates of its own issuer only', () => {
    expect(judge({ anchors, crls: [revoking(LAB_NOW_MS - DAY_MS, 1, root)] })).toMatchObject({ ok: true });
  });

  it('a list with a wrong signature is refused at once when its issuer is known, and revokes nobody when it is not', () => {
    const forged = revoking(LAB_NOW_MS - DAY_MS, 1, { ...intermediate, privateKey: generateSigningKey('p-256').privateKey });
    expect(() => createTrustStore({ anchors, intermediates: [intermediate.certificate], crls: [forged] })).toThrow(TrustMaterialError);
    expect(judge({ anchors, crls: [forged] })).toMatchObject({ ok: true });
  });

  it('a list of a CA that must not sign lists is none', () => {
    const key = generateSigningKey('p-256');
    const template = { commonName: 'No lists', serial: 5n, notBeforeMs: LAB_NOW_MS - DAY_MS, notAfterMs: LAB_NOW_MS + DAY_MS };
    const extensions = [basicConstraints(true), keyUsage(KEY_USAGE.keyCertSign)];
    const ca = issueCertificate({ ...template, extensions }, key);
    const identity = issueSigner(ca, { nowMs: LAB_NOW_MS });
    const list = revoking(LAB_NOW_MS - DAY_MS, 1, ca, identity);
    expect(() => createTrustStore({ anchors: [ca.certificate], crls: [list] })).toThrow(TrustMaterialError);
  });

  /** A list with extensions of the list and of its entry. */
  function listWith(listExtensions: readonly Buffer[], entryExtensions: readonly Buffer[] = []): Buffer {
    const { scheme } = intermediate;
    const time = utcTime('261121120000Z');
    const entry = sequence(signer.serialNumber, time, ...(entryExtensions.length === 0 ? [] : [sequence(...entryExtensions)]));
    const body = sequence(
      integer(1),
      scheme.certificateAlgorithm,
      intermediate.subjectName,
      time,
      sequence(entry),
      ...(listExtensions.length === 0 ? [] : [contextConstructed(0, sequence(...listExtensions))]),
    );
    return sequence(body, scheme.certificateAlgorithm, bitString(scheme.sign(body, intermediate.privateKey)));
  }

  /** The outer algorithm becomes ecdsa-with-SHA384; it is not signed. */
  function twoAlgorithms(list: Buffer): Buffer {
    const bent = Buffer.from(list);
    const oid = objectIdentifier(OID.ecdsaWithSha256);
    bent[bent.lastIndexOf(oid) + oid.length - 1] = 3;
    return bent;
  }

  const distributionPoint = (...members: readonly Buffer[]) => extension('2.5.29.28', true, sequence(...members));
  const yes = boolean(true).subarray(2);

  it('without a date of the next one, and for user certificates only, it revokes those that it names', () => {
    expect(judge({ anchors, crls: [listWith([])] })).toMatchObject({ ok: false, code: 'certificate_revoked' });
    const userOnly = listWith([distributionPoint(contextPrimitive(1, yes))]);
    expect(judge({ anchors, crls: [userOnly] })).toMatchObject({ ok: false, code: 'certificate_revoked' });
  });

  it.each([
    ['a delta', listWith([extension('2.5.29.27', true, integer(1))])],
    ['a delta that does not say that it is critical', listWith([extension('2.5.29.27', false, integer(1))])],
    ['with two signature algorithms', twoAlgorithms(listWith([]))],
    ['over other issuers’ certificates', listWith([distributionPoint(contextPrimitive(4, yes))])],
    ['over attribute certificates', listWith([distributionPoint(contextPrimitive(5, yes))])],
    ['critical in a way that is not known', listWith([extension('2.999.1', true, nullValue())])],
    ['with an entry of another issuer', listWith([], [extension('2.5.29.29', true, sequence())])],
  ])('is refused when the store is made: %s', (_name, list) => {
    expect(() => createTrustStore({ anchors, crls: [list] })).toThrow(TrustMaterialError);
  });
});
