import { generateKeyPairSync, type KeyPairKeyObjectResult, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { SCHEMES, type SignatureScheme } from '../../src/shared/rfc3161/issue/sign.ts';
import { digestIdentifier } from '../../src/shared/rfc3161/x509/digests.ts';
import { accepted, type Digest, ecdsa, keys, pss, refused, rsaEncryption, rsaNamed, scheme, signedBy } from '../support/signature-lab.ts';

describe('signatures that are refused (46)', () => {
  const [mismatch, unknown, weak] = ['signature_algorithm_mismatch', 'signature_algorithm_unknown', 'signature_algorithm_weak'] as const;
  const { 'p-256': ec, rsa } = keys;
  /** Signed over SHA-256, with this name. */
  const named = (oid: string, ...parameters: readonly Buffer[]) => scheme('sha256', der.sequence(der.objectIdentifier(oid), ...parameters));
  const usual = { hash: 'sha256', mask: 'sha256', salt: 32 } as const;

  it.each<[string, KeyPairKeyObjectResult, SignatureScheme, ReasonCode]>([
    ['ECDSA with SHA-384 named over a SHA-256 digest', ec, { ...ecdsa('sha384'), digest: 'sha256' }, mismatch],
    ['ECDSA with parameters', ec, named(OID.ecdsaWithSha256, der.nullValue()), mismatch],
    ['an ECDSA name on an RSA key', rsa, ecdsa('sha256'), mismatch],
    ['an RSA name on an EC key', ec, rsaEncryption('sha256'), mismatch],
    ['an Ed25519 name on an EC key', ec, scheme('sha512', der.sequence(der.objectIdentifier(OID.ed25519))), mismatch],
    ['sha512WithRSA named over a SHA-256 digest', rsa, { ...rsaNamed('sha512', der.nullValue()), digest: 'sha256' }, mismatch],
    ['RSA with parameters that are not NULL', rsa, rsaNamed('sha256', der.integer(1)), mismatch],
    ['the name of a digest instead of a signature', rsa, named(OID.sha256), unknown],
    ['the name of a key instead of a signature', ec, named(OID.ecPublicKey), unknown],
    ['md5WithRSA', rsa, named(OID.md5WithRsa, der.nullValue()), weak],
    ['md4WithRSA', rsa, named(OID.md4WithRsa, der.nullValue()), weak],
    ['PSS without parameters', rsa, named(OID.rsaPss), mismatch],
    ['PSS with the defaults, which are SHA-1', rsa, { ...pss({}), digest: 'sha256' }, weak],
    ['PSS with a mask by default SHA-1', rsa, pss({ hash: 'sha256', salt: 32 }), weak],
    ['PSS with a mask of SHA-1', rsa, pss({ ...usual, mask: 'sha1' }), weak],
    ['PSS with a mask of another digest', rsa, pss({ ...usual, mask: 'sha512' }), unknown],
    ['PSS with an unknown mask', rsa, pss({ ...usual, maskOid: '2.999.8' }), unknown],
    ['PSS of another digest', rsa, { ...pss({ hash: 'sha512', mask: 'sha512', salt: 64 }), digest: 'sha256' }, mismatch],
    ['PSS with a negative salt', rsa, pss({ ...usual, salt: -2, usedSalt: 32 }), mismatch],
    ['PSS with a salt beyond the key', rsa, pss({ ...usual, salt: 1024, usedSalt: 32 }), 'signature_invalid'],
    ['PSS with another salt than announced', rsa, pss({ ...usual, salt: 20, usedSalt: 32 }), 'signature_invalid'],
    ['PSS with a trailer of its own', rsa, pss({ ...usual, trailer: 2 }), unknown],
    ['PKCS #1 v1.5 on a key for PSS', keys['rsa-pss'], { ...pss(usual), cmsAlgorithm: SCHEMES.rsaSha256.cmsAlgorithm }, mismatch],
  ])('%s', async (_name, key, how, code) => {
    // The certificates are correct: only the token is signed like this.
    expect(await signedBy(key, how)).toMatchObject(refused(code));
  });

  it.each<[string, Buffer, ReasonCode]>([
    ['parameters', der.sequence(der.objectIdentifier(OID.sha256), der.integer(1)), 'der_malformed'],
    ['more than parameters', der.sequence(der.objectIdentifier(OID.sha256), der.nullValue(), der.nullValue()), 'der_trailing'],
    ['no name', der.sequence(der.nullValue()), 'der_malformed'],
  ])('a digest with %s', async (_name, digestAlgorithm, code) => {
    expect(await signedBy(keys['p-256'], ecdsa('sha256'), { signer: (parts) => ({ ...parts, digestAlgorithm }) })).toMatchObject(
      refused(code),
    );
  });

  it('PSS whose salt length is not a number', async () => {
    const sha256 = digestIdentifier('sha256');
    const mask = der.sequence(der.objectIdentifier(OID.mgf1), sha256);
    const parameters = der.sequence(
      der.contextConstructed(0, sha256),
      der.contextConstructed(1, mask),
      der.contextConstructed(2, der.octetString(Buffer.from([32]))),
    );
    const how = {
      ...pss({ hash: 'sha256', mask: 'sha256', salt: 32 }),
      cmsAlgorithm: der.sequence(der.objectIdentifier(OID.rsaPss), parameters),
    };
    expect(await signedBy(keys.rsa, how)).toMatchObject(refused('der_malformed'));
  });

  it('PSS with a digest that the key does not allow', async () => {
    const how = pss({ hash: 'sha384', mask: 'sha384', salt: 48 });
    const announced = pss({ hash: 'sha256', mask: 'sha256', salt: 48 });
    expect(await signedBy(keys['rsa-pss-sha384'], { ...announced, sign: how.sign })).toMatchObject(refused('signature_algorithm_mismatch'));
  });

  it('Ed25519 with a digest other than SHA-512 (RFC 8419 §3.1)', async () => {
    expect(await signedBy(generateKeyPairSync('ed25519'), { ...SCHEMES.ed25519, digest: 'sha256' })).toMatchObject(
      refused('signature_algorithm_mismatch'),
    );
  });

  it('Ed448 in a token, whose digest would be SHAKE256', async () => {
    const ed448 = scheme('sha512', der.sequence(der.objectIdentifier(OID.ed448)), (data, key) => sign(null, data, key));
    expect(await signedBy(generateKeyPairSync('ed448'), ed448)).toMatchObject(refused('signature_algorithm_mismatch'));
  });

  it('a digest that SignedData does not announce (RFC 5652 §5.1)', async () => {
    const announcing = (...digests: readonly Digest[]) =>
      signedBy(keys['p-256'], ecdsa('sha256'), { token: (parts) => ({ ...parts, digestAlgorithms: digests.map(digestIdentifier) }) });
    expect(await announcing()).toMatchObject(refused('signature_algorithm_mismatch'));
    expect(await announcing('sha512')).toMatchObject(refused('signature_algorithm_mismatch'));
    expect(await announcing('sha512', 'sha256')).toMatchObject(accepted);
  });
});

describe('signatures with the right algorithm and a wrong value (29)', () => {
  const withSignature = (change: (signature: Buffer) => Buffer) => (pair: KeyPairKeyObjectResult, how: SignatureScheme) =>
    signedBy(pair, how, { signer: (signer) => ({ ...signer, signature: change(signer.signature) }) });

  it.each<[string, (signature: Buffer) => Buffer]>([
    ['empty', () => Buffer.alloc(0)],
    ['zeros', (signature) => Buffer.alloc(signature.length)],
    ['an octet longer', (signature) => Buffer.concat([signature, Buffer.alloc(1)])],
    ['an octet shorter', (signature) => signature.subarray(0, -1)],
    ['with a zero in front', (signature) => Buffer.concat([Buffer.alloc(1), signature])],
    ['r and s of zero', () => der.sequence(der.integer(0), der.integer(0))],
    ['r and s of one', () => der.sequence(der.integer(1), der.integer(1))],
    ['something else', () => Buffer.from('signature')],
  ])('%s', async (_name, change) => {
    for (const [key, how] of [
      [keys['p-256'], ecdsa('sha256')],
      [keys.rsa, rsaEncryption('sha256')],
      [keys.rsa, pss({ hash: 'sha256', mask: 'sha256', salt: 32 })],
      [generateKeyPairSync('ed25519'), SCHEMES.ed25519],
    ] as const) {
      expect(await withSignature(change)(key, how)).toMatchObject(refused('signature_invalid'));
    }
  });

  it('ECDSA in BER or with a negative number', async () => {
    const p256 = withSignature((signature) => Buffer.concat([Buffer.from([0x30, 0x81]), signature.subarray(1)]));
    expect(await p256(keys['p-256'], ecdsa('sha256'))).toMatchObject(refused('signature_invalid'));
  });
});
