import { constants, createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { Set as Asn1Set, type BaseBlock, fromBER, ObjectIdentifier, OctetString, Sequence } from 'asn1js';
import { describe, expect, test } from 'vitest';
import { type Der, parseDer } from '../../../src/shared/rfc3161/asn1/der.ts';
import { isSortedSet } from '../../../src/shared/rfc3161/asn1/der-values.ts';
import {
  contextConstructed,
  generalizedTime,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  sequence,
} from '../../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../../src/shared/rfc3161/asn1/oids.ts';
import { TAG } from '../../../src/shared/rfc3161/asn1/tags.ts';
import { issueResponse, type SigningIdentity, type TsaProfile } from '../../../src/shared/rfc3161/issue/issue.ts';
import { digestData } from '../../../src/shared/rfc3161/issue/sign.ts';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../../../src/tsa/certificate.ts';
import { issueResponseWith, type Seams } from '../../../src/tsa/seams.ts';
import { judge } from '../../support/judge.ts';
import { ask, createTsaLab, LAB_POLICY } from '../../support/tsa-lab.ts';

const timeMs = Date.UTC(2026, 10, 21, 12, 0, 0, 250);
const moment = { timeMs, serial: 42n };
const POLICY = '2.999.3161.1';

const profileOf = (identity: SigningIdentity): TsaProfile => ({ identity, policies: [POLICY, '2.999.3161.2'] });

/** What each seam is shown while one answer is made. */
function observe(profile: TsaProfile, query: Buffer, bend: Seams = {}) {
  const seen: { eContent?: Buffer; signedAttributes?: Buffer; signature?: Buffer } = {};
  const seams: Seams = {
    ...bend,
    eContent: (der) => {
      seen.eContent = bend.eContent?.(der) ?? der;
      return seen.eContent;
    },
    signedAttributes: (set) => {
      seen.signedAttributes = set;
      return set;
    },
    signer: (signer) => {
      seen.signature = signer.signature;
      return signer;
    },
  };
  const answer = issueResponseWith(seams, profile, query, moment);
  return { answer, eContent: seen.eContent!, signedAttributes: seen.signedAttributes!, signature: seen.signature! };
}

/** The values of each signed attribute, read by asn1js. */
function attributesOf(set: Buffer): Map<string, BaseBlock> {
  const { result } = fromBER(set);
  if (!(result instanceof Asn1Set)) throw new Error('not a SET');
  return new Map(
    result.valueBlock.value.map((attribute) => {
      if (!(attribute instanceof Sequence)) throw new Error('not an Attribute');
      const [type, values] = attribute.valueBlock.value;
      if (!(type instanceof ObjectIdentifier) || !(values instanceof Asn1Set)) throw new Error('not an Attribute');
      expect(values.valueBlock.value).toHaveLength(1);
      return [type.getValue(), values.valueBlock.value[0]!];
    }),
  );
}

function isSignatureTrue(algorithm: KeyAlgorithm, data: Buffer, key: KeyObject, signature: Buffer): boolean {
  const digest = {
    'p-256': 'sha256',
    'p-384': 'sha384',
    'rsa-2048': 'sha256',
    'rsa-pss': 'sha256',
    'rsa-pss-rsae': 'sha256',
    ed25519: null,
  };
  const padding = algorithm.startsWith('rsa-pss') ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {};
  return verify(digest[algorithm], data, { key, ...padding }, signature);
}

describe.each(KEY_ALGORITHMS)('a token of %s', (algorithm) => {
  const lab = createTsaLab(algorithm);
  const { signer } = lab.pki;
  const profile = profileOf(signer);
  const { eContent, signedAttributes, signature } = observe(profile, ask().der);

  test('is signed over its attributes as a SET OF, in DER order (RFC 5652 §5.4)', () => {
    const certificate = new X509Certificate(profile.identity.certificate);
    expect(signedAttributes[0]).toBe(0x31);
    expect(isSignatureTrue(algorithm, signedAttributes, certificate.publicKey, signature)).toBe(true);
    const { result } = fromBER(signedAttributes);
    if (!(result instanceof Asn1Set)) throw new Error('not a SET');
    const encodings = result.valueBlock.value.map((element) => Buffer.from(element.valueBeforeDecodeView));
    expect(encodings).toEqual([...encodings].sort(Buffer.compare));
  });

  test('has contentType, messageDigest and signingCertificateV2, and no more', () => {
    const attributes = attributesOf(signedAttributes);
    expect([...attributes.keys()].sort()).toEqual([OID.contentType, OID.messageDigest, OID.signingCertificateV2].sort());
    const digest = attributes.get(OID.messageDigest);
    if (!(digest instanceof OctetString)) throw new Error('messageDigest is not an OCTET STRING');
    const name = { 'p-384': 'sha384', ed25519: 'sha512' }[algorithm as string] ?? 'sha256';
    expect(Buffer.from(digest.getValue())).toEqual(digestData(name, eContent));
    expect(Buffer.from(attributes.get(OID.signingCertificateV2)!.toBER())).toSatisfy((der: Buffer) =>
      der.includes(digestData('sha256', profile.identity.certificate)),
    );
  });

  test('is accepted by the verifier', () => {
    expect(judge(lab.specimen())).toMatchObject({ ok: true, policy: LAB_POLICY });
  });

  test('is DER to the last bit: every SET OF is in order, and the verifier reads it as it stands (X.690 §11.6)', () => {
    // Fresh serial numbers change which certificate comes first.
    const key = { ...signer, publicKey: createPublicKey(signer.privateKey) };
    for (let round = 0; round < 4; round++) {
      const token = parseDer(issueResponse(profileOf(lab.signer({ key })), ask().der, moment)).children[1]!;
      const unsorted: number[] = [];
      const visit = (element: Der, isSetOf: boolean): void => {
        if (isSetOf && !isSortedSet(element.children)) unsorted.push(element.start);
        for (const child of element.children) visit(child, child.tag === TAG.set);
      };
      visit(token, false);
      const certificates = token.children[1]!.children[0]!.children[3]!;
      expect(certificates.children).toHaveLength(2);
      expect([...unsorted, isSortedSet(certificates.children)]).toEqual([true]);
    }
  });

  test('chains to its root (RFC 5280 §6)', () => {
    const [own, intermediate] = [signer.certificate, ...signer.chain].map((der) => new X509Certificate(der));
    expect(own!.checkIssued(intermediate!)).toBe(true);
    expect(own!.verify(intermediate!.publicKey)).toBe(true);
    expect(intermediate!.ca).toBe(true);
  });
});

describe('issuing', () => {
  const profile = profileOf(createTsaLab('ed25519').pki.signer);

  test('is a function of its arguments', () => {
    const query = ask().der;
    expect(issueResponse(profile, query, moment)).toEqual(issueResponse(profile, query, moment));
    expect(issueResponse(profile, query, moment)).not.toEqual(issueResponse(profile, query, { ...moment, serial: 43n }));
  });

  test('does not touch the request', () => {
    const query = ask().der;
    const before = Buffer.from(query);
    issueResponse(profile, query, moment);
    expect(query).toEqual(before);
  });

  test('repeats the imprint, the nonce and the policy, and says who, when and how exactly', () => {
    const asked = ask({ nonce: -77n, policy: '2.999.3161.2', nullParameters: true });
    const { eContent } = observe({ ...profile, accuracy: { seconds: 2 }, includeTsaName: true }, asked.der);
    const imprint = sequence(sequence(objectIdentifier(OID.sha256), nullValue()), octetString(asked.digest));
    expect(eContent).toEqual(
      sequence(
        integer(1),
        objectIdentifier('2.999.3161.2'),
        imprint,
        integer(42),
        generalizedTime('20261121120000.25Z'),
        sequence(integer(2)),
        integer(-77),
        contextConstructed(0, contextConstructed(4, profile.identity.subjectName)),
      ),
    );
  });

  test('signingTime is added when wanted (RFC 5652 §11.3)', () => {
    const { signedAttributes } = observe({ ...profile, includeSigningTime: true }, ask().der);
    expect(Buffer.from(attributesOf(signedAttributes).get(OID.signingTime)!.toBER())).toEqual(
      Buffer.from('\x17\x0d261121120000Z', 'latin1'),
    );
  });

  test('certificates are there when asked for (certReq), and only then', () => {
    const certificate = profile.identity.certificate;
    expect(issueResponse(profile, ask().der, moment).includes(certificate)).toBe(true);
    expect(issueResponse(profile, ask({ certReq: false }).der, moment).includes(certificate)).toBe(false);
  });

  test('what a seam changes is digested and signed as changed', () => {
    const { eContent, signedAttributes } = observe(profile, ask().der, { fields: (fields) => ({ ...fields, version: 7 }) });
    expect(eContent.includes(integer(7))).toBe(true);
    expect(signedAttributes.includes(digestData('sha512', eContent))).toBe(true);
  });
});
