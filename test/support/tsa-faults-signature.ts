import { generateKeyPairSync, type KeyPairKeyObjectResult, sign } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { SCHEMES, type SignatureScheme } from '../../src/shared/rfc3161/issue/sign.ts';
import { digestIdentifier } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { ecdsa, keys, pss, rsaEncryption, rsaNamed, scheme, signedWith } from './signature-lab.ts';
import { type FaultRow, signerInfo, token } from './tsa-changes.ts';

/** Signatures that are refused (29, 46). The certificates are correct: only the token is signed like this. */

const [mismatch, unknown, weak] = ['signature_algorithm_mismatch', 'signature_algorithm_unknown', 'signature_algorithm_weak'] as const;
const { 'p-256': ec, rsa } = keys;
const [ed25519, ed448] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed448')];
const sha256 = digestIdentifier('sha256');
/** Signed over SHA-256, with this name. */
const named = (oid: string, ...parameters: readonly Buffer[]) => scheme('sha256', der.sequence(der.objectIdentifier(oid), ...parameters));
const usual = { hash: 'sha256', mask: 'sha256', salt: 32 } as const;
/** PSS as usual, except that the salt's length is an OCTET STRING. */
const saltAsOctets = der.sequence(
  der.contextConstructed(0, sha256),
  der.contextConstructed(1, der.sequence(der.objectIdentifier(OID.mgf1), sha256)),
  der.contextConstructed(2, der.octetString(Buffer.from([32]))),
);

const misnamed: readonly (readonly [string, KeyPairKeyObjectResult, SignatureScheme, ReasonCode, boolean?])[] = [
  ['ECDSA with SHA-384 named over a SHA-256 digest', ec, { ...ecdsa('sha384'), digest: 'sha256' }, mismatch],
  ['ECDSA with parameters', ec, named(OID.ecdsaWithSha256, der.nullValue()), mismatch, true],
  ['an ECDSA name on an RSA key', rsa, ecdsa('sha256'), mismatch, true],
  ['an RSA name on an EC key', ec, rsaEncryption('sha256'), mismatch, true],
  ['an Ed25519 name on an EC key', ec, scheme('sha512', der.sequence(der.objectIdentifier(OID.ed25519))), mismatch, true],
  ['sha512WithRSA named over a SHA-256 digest', rsa, { ...rsaNamed('sha512', der.nullValue()), digest: 'sha256' }, mismatch],
  ['RSA with parameters that are not NULL', rsa, rsaNamed('sha256', der.integer(1)), mismatch, true],
  ['the name of a digest instead of a signature', rsa, named(OID.sha256), unknown, true],
  ['the name of a key instead of a signature', ec, named(OID.ecPublicKey), unknown, true],
  ['md5WithRSA', rsa, named(OID.md5WithRsa, der.nullValue()), weak, true],
  ['md4WithRSA', rsa, named(OID.md4WithRsa, der.nullValue()), weak, true],
  ['PSS without parameters', rsa, named(OID.rsaPss), mismatch, true],
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
  ['PKCS #1 v1.5 on a key for PSS', keys['rsa-pss'], { ...pss(usual), cmsAlgorithm: SCHEMES.rsaSha256.cmsAlgorithm }, mismatch, true],
  ['PSS whose salt length is not a number', rsa, { ...pss(usual), ...named(OID.rsaPss, saltAsOctets) }, 'der_malformed', true],
  [
    'PSS with a digest that the key does not allow',
    keys['rsa-pss-sha384'],
    { ...pss({ ...usual, salt: 48 }), sign: pss({ hash: 'sha384', mask: 'sha384', salt: 48 }).sign },
    mismatch,
  ],
  ['Ed25519 with a digest other than SHA-512 (RFC 8419 §3.1)', ed25519, { ...SCHEMES.ed25519, digest: 'sha256' }, mismatch],
  [
    'Ed448, whose digest would be SHAKE256',
    ed448,
    scheme('sha512', der.sequence(der.objectIdentifier(OID.ed448)), (data, key) => sign(null, data, key)),
    mismatch,
  ],
];

const digestAlgorithm = (code: ReasonCode, name: string, members: readonly Buffer[], opensslAccepts = false): FaultRow => [
  code,
  `a digest algorithm with ${name}`,
  signerInfo({ digestAlgorithm: der.sequence(...members) }),
  opensslAccepts,
];

const signers: readonly (readonly [string, KeyPairKeyObjectResult, SignatureScheme])[] = [
  ['ECDSA', ec, ecdsa('sha256')],
  ['RSA', rsa, rsaEncryption('sha256')],
  ['PSS', rsa, pss(usual)],
  ['Ed25519', ed25519, SCHEMES.ed25519],
];
const wrongValues: readonly (readonly [string, (signature: Buffer) => Buffer])[] = [
  ['empty', () => Buffer.alloc(0)],
  ['zeros', (signature) => Buffer.alloc(signature.length)],
  ['an octet longer', (signature) => Buffer.concat([signature, Buffer.alloc(1)])],
  ['an octet shorter', (signature) => signature.subarray(0, -1)],
  ['with a zero in front', (signature) => Buffer.concat([Buffer.alloc(1), signature])],
  ['r and s of zero', () => der.sequence(der.integer(0), der.integer(0))],
  ['r and s of one', () => der.sequence(der.integer(1), der.integer(1))],
  ['something else', () => Buffer.from('signature')],
];
const changed = (change: (signature: Buffer) => Buffer) => signerInfo(({ signature }) => ({ signature: change(signature) }));
const inBer = (signature: Buffer) => Buffer.concat([Buffer.from([0x30, 0x81]), signature.subarray(1)]);

export const SIGNATURE_FAULTS: readonly FaultRow[] = [
  ...misnamed.map(([name, key, how, code, opensslAccepts]): FaultRow => [code, name, signedWith(key, how), opensslAccepts ?? false]),
  digestAlgorithm('der_malformed', 'parameters', [der.objectIdentifier(OID.sha256), der.integer(1)], true),
  digestAlgorithm('der_trailing', 'more than parameters', [der.objectIdentifier(OID.sha256), der.nullValue(), der.nullValue()]),
  digestAlgorithm('der_malformed', 'no name', [der.nullValue()]),
  [mismatch, 'SignedData that announces no digest (RFC 5652 §5.1)', token({ digestAlgorithms: [] }), false],
  [mismatch, 'SignedData that announces another digest', token({ digestAlgorithms: [digestIdentifier('sha512')] }), false],
  ...signers.flatMap(([name, key, how]) =>
    wrongValues.map(
      ([value, change]): FaultRow => [
        'signature_invalid',
        `a value of ${name}: ${value}`,
        (lab) => ({ ...signedWith(key, how)(lab), ...changed(change) }),
      ],
    ),
  ),
  ['signature_invalid', 'ECDSA in BER', changed(inBer)],
];
