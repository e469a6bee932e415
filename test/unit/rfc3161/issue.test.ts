import { constants, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { Set as Asn1Set, type BaseBlock, BitString, fromBER, ObjectIdentifier, OctetString, Sequence } from 'asn1js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Der, parseDer } from '../../../src/shared/rfc3161/asn1/der.ts';
import { isSortedSet } from '../../../src/shared/rfc3161/asn1/der-values.ts';
import {
  boolean,
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
import { issueResponse, type TsaProfile } from '../../../src/shared/rfc3161/issue/issue.ts';
import { digestData } from '../../../src/shared/rfc3161/issue/sign.ts';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../../../src/tsa/certificate.ts';
import { createPki } from '../../../src/tsa/pki.ts';
import { issueResponseWith, type Seams } from '../../../src/tsa/seams.ts';
import { tries } from '../../support/depth.ts';
import { judge } from '../../support/judge.ts';
import { ask, createTsaLab, LAB_POLICY } from '../../support/tsa-lab.ts';

const timeMs = Date.UTC(2026, 10, 21, 12, 0, 0, 250);
const moment = { timeMs, serial: 42n };
const POLICY = '2.999.3161.1';

function profileOf(algorithm: KeyAlgorithm): TsaProfile {
  return { identity: createPki({ algorithm, nowMs: timeMs }).signer, policies: [POLICY, '2.999.3161.2'] };
}

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
  const profile = profileOf(algorithm);
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
    const lab = createTsaLab(algorithm);
    expect(judge(lab.specimen())).toMatchObject({ ok: true, policy: LAB_POLICY });
  });

  test('is DER to the last bit: every SET OF is in order, and the verifier reads it as it stands (X.690 §11.6)', () => {
    // Fresh serial numbers and keys change which certificate comes first.
    for (let round = 0; round < 4; round++) {
      const token = parseDer(issueResponse(profileOf(algorithm), ask().der, moment)).children[1]!;
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
    const [signer, intermediate] = [profile.identity.certificate, ...profile.identity.chain].map((der) => new X509Certificate(der));
    expect(signer!.checkIssued(intermediate!)).toBe(true);
    expect(signer!.verify(intermediate!.publicKey)).toBe(true);
    expect(intermediate!.ca).toBe(true);
  });
});

describe('issuing', () => {
  const profile = profileOf('ed25519');

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

describe('a request that is refused gets a rejection that says why (RFC 3161 §2.4.2)', () => {
  const profile = profileOf('ed25519');
  const imprint = (oid: string, octets: number, ...parameters: Buffer[]) =>
    sequence(sequence(objectIdentifier(oid), ...parameters), octetString(Buffer.alloc(octets)));
  const good = imprint(OID.sha256, 32);
  const bit = { badAlg: 0, badRequest: 2, badDataFormat: 5, unacceptedPolicy: 15, unacceptedExtension: 16 };

  /** The rejection with this failure bit and some status text. */
  function failBit(answer: Buffer): number {
    const { result } = fromBER(answer);
    if (!(result instanceof Sequence)) throw new Error('not a TimeStampResp');
    expect(result.valueBlock.value).toHaveLength(1);
    const [statusInfo] = result.valueBlock.value;
    if (!(statusInfo instanceof Sequence)) throw new Error('not a PKIStatusInfo');
    const [status, statusString, failInfo] = statusInfo.valueBlock.value;
    expect(Buffer.from(status!.toBER())).toEqual(integer(2));
    expect(statusString).toBeInstanceOf(Sequence);
    if (!(failInfo instanceof BitString)) throw new Error('not a PKIFailureInfo');
    const bits = failInfo.valueBlock.valueHexView;
    for (let index = 0; index < bits.length * 8; index++) if (bits[index >> 3]! & (0x80 >> (index & 7))) return index;
    throw new Error('no failure bit');
  }

  test.each<[string, keyof typeof bit, Buffer]>([
    ['nothing', 'badDataFormat', Buffer.alloc(0)],
    ['text', 'badDataFormat', Buffer.from('hello')],
    ['a length beyond the end', 'badDataFormat', ask().der.subarray(0, -1)],
    ['an octet after the end', 'badDataFormat', Buffer.concat([ask().der, Buffer.from([0])])],
    ['an indefinite length', 'badDataFormat', Buffer.concat([Buffer.from([0x30, 0x80]), ask().der.subarray(2), Buffer.from([0, 0])])],
    ['a length that is not minimal', 'badDataFormat', Buffer.concat([Buffer.from([0x30, 0x81]), ask().der.subarray(1)])],
    ['no imprint', 'badDataFormat', sequence(integer(1))],
    ['a field that is none', 'badDataFormat', sequence(integer(1), good, octetString(Buffer.alloc(1)))],
    ['fields in another order', 'badDataFormat', sequence(integer(1), good, boolean(true), integer(5))],
    ['a nonce that is not minimal', 'badDataFormat', sequence(integer(1), good, Buffer.from([2, 2, 0, 1]))],
    ['more than 4 096 octets', 'badDataFormat', sequence(integer(1), good, integer(1n << 33_000n))],
    ['a nonce without octets', 'badDataFormat', sequence(integer(1), good, Buffer.from([2, 0]))],
    ['a digest of 31 octets', 'badDataFormat', sequence(integer(1), imprint(OID.sha256, 31))],
    ['a digest of no octets', 'badDataFormat', sequence(integer(1), imprint(OID.sha512, 0))],
    ['version 2', 'badRequest', sequence(integer(2), good)],
    ['SHA-1', 'badAlg', sequence(integer(1), imprint(OID.sha1, 20))],
    ['MD5', 'badAlg', sequence(integer(1), imprint(OID.md5, 16))],
    ['a digest that nobody knows', 'badAlg', sequence(integer(1), imprint('2.999.1', 32))],
    ['parameters of the digest', 'badDataFormat', sequence(integer(1), imprint(OID.sha256, 32, integer(1)))],
    ['another policy', 'unacceptedPolicy', ask({ policy: '2.999.3161.99' }).der],
    [
      'an extension',
      'unacceptedExtension',
      sequence(integer(1), good, contextConstructed(0, sequence(objectIdentifier('2.999.1'), octetString()))),
    ],
  ])('%s: %s', (_name, expected, query) => {
    expect(failBit(issueResponse(profile, query, moment))).toBe(bit[expected]);
  });

  test('whatever the octets are, there is an answer', () => {
    const query = ask().der;
    const mutated = fc.tuple(fc.nat(query.length - 1), fc.nat(255)).map(([at, value]) => {
      const out = Buffer.from(query);
      out[at] = value;
      return out;
    });
    const octets = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, octets), (bytes) => {
        expect(fromBER(issueResponse(profile, bytes, moment)).offset).toBeGreaterThan(0);
      }),
      { numRuns: tries(2000, 300) },
    );
  });
});
