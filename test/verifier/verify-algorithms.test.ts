import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nullValue, objectIdentifier, octetString, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { issueCertificate, issueSigner, KEY_ALGORITHMS } from '../support/certificates.ts';
import { judge } from '../support/judge.ts';
import { DIGESTS, ecdsa, keys, lab, OCTETS, pss, rsaEncryption, rsaNamed, scheme, signedWith } from '../support/signature-lab.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const accepted = { ok: true };
const signedBy = (...signature: Parameters<typeof signedWith>) => judge(lab.specimen(signedWith(...signature)(lab)));

describe('signatures that are accepted', () => {
  it.each(KEY_ALGORITHMS)('a token whose whole chain is %s', async (algorithm) => {
    const own = createTsaLab(algorithm);
    expect(await judge(own.specimen())).toMatchObject(accepted);
    expect(await judge(own.specimen({ ask: { hash: 'sha512' } }))).toMatchObject({ ok: true, imprint: { algorithm: 'sha512' } });
  });

  it.each(['p-256', 'p-384', 'p-521', 'brainpoolP256r1', 'brainpoolP384r1', 'brainpoolP512r1'] as const)(
    'ECDSA on %s with each SHA-2',
    async (curve) => {
      for (const digest of DIGESTS) expect(await signedBy(keys[curve], ecdsa(digest)), digest).toMatchObject(accepted);
    },
  );

  it.each(['rsa', 'rsa-3072'] as const)('PKCS #1 v1.5 under each of its names with each SHA-2 by %s', async (key) => {
    for (const digest of DIGESTS) {
      expect(await signedBy(keys[key], rsaEncryption(digest)), digest).toMatchObject(accepted);
      expect(await signedBy(keys[key], rsaNamed(digest, nullValue())), digest).toMatchObject(accepted);
      // RFC 5754 §3.2: NULL may be absent.
      expect(await signedBy(keys[key], rsaNamed(digest)), digest).toMatchObject(accepted);
    }
  });

  it.each(['rsa', 'rsa-pss'] as const)('PSS with each SHA-2 and any salt length that matches the announced one, by %s', async (key) => {
    for (const digest of DIGESTS) {
      for (const salt of [OCTETS[digest], 20, 0, 64]) {
        expect(await signedBy(keys[key], pss({ hash: digest, mask: digest, salt })), `${digest}, salt ${salt}`).toMatchObject(accepted);
      }
      expect(await signedBy(keys[key], pss({ hash: digest, mask: digest })), 'the default salt').toMatchObject(accepted);
      const spelledOut = pss({ hash: digest, mask: digest, salt: OCTETS[digest], trailer: 1 });
      expect(await signedBy(keys[key], spelledOut), 'the default trailer, spelled out').toMatchObject(accepted);
    }
    expect(await signedBy(keys['rsa-pss-sha384'], pss({ hash: 'sha384', mask: 'sha384', salt: 48 }))).toMatchObject(accepted);
  });

  it('certificates under Ed448', async () => {
    const ed448 = scheme('sha512', sequence(objectIdentifier(OID.ed448)), (data, key) => sign(null, data, key));
    const template = { commonName: 'Ed448 root', serial: 3n, notBeforeMs: LAB_NOW_MS - DAY_MS, notAfterMs: LAB_NOW_MS + DAY_MS };
    const root = issueCertificate({ ...template, extensions: [lab448()] }, { ...generateKeyPairSync('ed448'), scheme: ed448 });
    const specimen = lab.specimen({ profile: { identity: issueSigner(root, { nowMs: LAB_NOW_MS }) }, anchors: [root.certificate] });
    expect(await judge(specimen)).toMatchObject(accepted);
  });
});

/** basicConstraints of a CA. */
const lab448 = () => sequence(objectIdentifier(OID.basicConstraints), octetString(sequence(Buffer.from([1, 1, 0xff]))));
