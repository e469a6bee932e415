import { constants, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { contentsOf, type Der, derOf, parseDer, TAG } from '../../src/shared/rfc3161/asn1/der.ts';
import { isSortedSet, oidOf } from '../../src/shared/rfc3161/asn1/der-values.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { issueResponse, type SigningIdentity, type TsaProfile } from '../../src/shared/rfc3161/issue/issue.ts';
import { digestData } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { KEY_ALGORITHMS } from '../support/certificates.ts';
import { ask, createTsaLab } from '../support/tsa-lab.ts';
import { issueResponseWith, type LabProfile } from '../support/tsa-seams.ts';

const timeMs = Date.UTC(2026, 10, 21, 12, 0, 0, 250);
const moment = { timeMs, serial: 42n };

const profileOf = (identity: SigningIdentity): TsaProfile => ({ identity, policies: ['2.999.3161.1', '2.999.3161.2'] });

/** The data signed for one answer, and the values of its attributes. */
function observe(profile: LabProfile, query: Buffer) {
  const none: Buffer = Buffer.alloc(0);
  const seen = { eContent: none, signedAttributes: none, signature: none };
  const see = <K extends keyof typeof seen>(name: K, bytes: Buffer) => (seen[name] = bytes);
  const seams = {
    eContent: (bytes: Buffer) => see('eContent', bytes),
    signedAttributes: (set: Buffer) => see('signedAttributes', set),
    signer: <T extends { signature: Buffer }>(signer: T) => ({ ...signer, signature: see('signature', signer.signature) }),
  };
  issueResponseWith(seams, profile, query, moment);
  const attributes = parseDer(seen.signedAttributes).children.map(
    ({ children: [type, values] }) => [oidOf(type!, 'type'), values!.children[0]!] as const,
  );
  return { ...seen, attributes: new Map(attributes) };
}

/** OpenSSL 3.0 verifies the signatures of all other keys (test/verifier/tsa-openssl.test.ts). */
test.each([
  ['ed25519', null, {}],
  ['rsa-pss-rsae', 'sha256', { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }],
] as const)('a token of %s is signed over its attributes as a SET OF (RFC 5652 §5.4)', (algorithm, digest, padding) => {
  const { signer } = createTsaLab(algorithm).pki;
  const { signedAttributes, signature } = observe(profileOf(signer), ask().der);
  expect(signedAttributes[0]).toBe(0x31);
  const key = new X509Certificate(signer.certificate).publicKey;
  expect(verify(digest, signedAttributes, { key, ...padding }, signature)).toBe(true);
});

describe.each(KEY_ALGORITHMS)('a token of %s', (algorithm) => {
  const lab = createTsaLab(algorithm);
  const { signer } = lab.pki;

  test('has only contentType, messageDigest and signingCertificateV2', () => {
    const { attributes, eContent } = observe(profileOf(signer), ask().der);
    expect([...attributes.keys()].sort()).toEqual([OID.contentType, OID.messageDigest, OID.signingCertificateV2].sort());
    const name = { 'p-384': 'sha384', ed25519: 'sha512' }[algorithm as string] ?? 'sha256';
    expect(contentsOf(attributes.get(OID.messageDigest)!)).toEqual(digestData(name, eContent));
    expect(derOf(attributes.get(OID.signingCertificateV2)!).includes(digestData('sha256', signer.certificate))).toBe(true);
  });

  test('is DER throughout: every SET OF is sorted, and the verifier reads it unchanged (X.690 §11.6)', () => {
    // New serial numbers change the order of the certificates.
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
});

describe('issuing', () => {
  const profile = profileOf(createTsaLab('ed25519').pki.signer);

  test('depends only on its arguments', () => {
    const query = ask().der;
    expect(issueResponse(profile, query, moment)).toEqual(issueResponse(profile, query, moment));
    expect(issueResponse(profile, query, moment)).not.toEqual(issueResponse(profile, query, { ...moment, serial: 43n }));
  });

  test('repeats imprint, nonce and policy, and states signer, time and accuracy', () => {
    const asked = ask({ nonce: -77n, policy: '2.999.3161.2', nullParameters: true });
    const { eContent } = observe({ ...profile, accuracy: { seconds: 2 }, includeTsaName: true }, asked.der);
    const sha256 = der.sequence(der.objectIdentifier(OID.sha256), der.nullValue());
    expect(eContent).toEqual(
      der.sequence(
        der.integer(1),
        der.objectIdentifier('2.999.3161.2'),
        der.sequence(sha256, der.octetString(asked.digest)),
        der.integer(42),
        der.generalizedTime('20261121120000.25Z'),
        der.sequence(der.integer(2)),
        der.integer(-77),
        der.contextConstructed(0, der.contextConstructed(4, profile.identity.subjectName)),
      ),
    );
  });
});
