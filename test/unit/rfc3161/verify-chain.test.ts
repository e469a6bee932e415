import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  boolean,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  tlv,
  utf8String,
} from '../../../src/shared/rfc3161/der-writer.ts';
import type { Seams, SigningIdentity } from '../../../src/shared/rfc3161/issue.ts';
import { directoryName } from '../../../src/shared/rfc3161/issue-encode.ts';
import { SCHEMES, type SignatureScheme } from '../../../src/shared/rfc3161/issue-sign.ts';
import { OID } from '../../../src/shared/rfc3161/oids.ts';
import { createTrustStore, type TrustMaterial } from '../../../src/shared/rfc3161/trust.ts';
import type { VerifyResult } from '../../../src/shared/rfc3161/types.ts';
import { verifyToken } from '../../../src/shared/rfc3161/verify.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  extendedKeyUsage,
  extension,
  generateSigningKey,
  issueCertificate,
  KEY_USAGE,
  keyUsage,
  type SigningKey,
  subjectKeyIdentifier,
} from '../../../src/tsa/certificate.ts';
import { issueRoot, issueSigner } from '../../../src/tsa/pki.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../../support/tsa-lab.ts';

const lab = createTsaLab();
const FROM_MS = LAB_NOW_MS - 365 * DAY_MS;

interface CaOptions {
  key?: SigningKey;
  name?: string;
  extensions?: readonly Buffer[];
  notAfterMs?: number;
  serial?: bigint;
}

const caUsage = keyUsage(KEY_USAGE.keyCertSign, KEY_USAGE.cRLSign);
const pathLength = (limit: number) => extension(OID.basicConstraints, true, sequence(boolean(true), integer(limit)));

/** A CA below `issuer`, or a root; a key may have several certificates. */
function ca(issuer: SigningIdentity | undefined, options: CaOptions = {}): SigningIdentity {
  const { key = generateSigningKey('p-256'), name = 'A CA', extensions = [basicConstraints(true), caUsage] } = options;
  const template = {
    commonName: name,
    serial: options.serial ?? 7n,
    notBeforeMs: FROM_MS,
    notAfterMs: options.notAfterMs ?? LAB_NOW_MS + DAY_MS,
  };
  return issueCertificate({ ...template, extensions }, key, issuer);
}

const below = (issuer: SigningIdentity) => issueSigner(issuer, { nowMs: FROM_MS });

/** A token by `identity`, with `certificates` besides the signer's. */
function tokenBy(identity: SigningIdentity, certificates: readonly Buffer[] = identity.chain, seams: Seams = {}): Buffer {
  return lab.specimen({
    profile: { identity },
    seams: { ...seams, token: (parts) => ({ ...parts, certificates: [identity.certificate, ...certificates] }) },
  }).answer;
}

function judge(token: Buffer, material: Partial<TrustMaterial>): VerifyResult {
  return verifyToken(token, { trust: createTrustStore({ anchors: [], ...material }), nowMs: LAB_NOW_MS });
}

describe('who may certify whom (RFC 5280 §6)', () => {
  const root = ca(undefined, { name: 'Root' });

  it('a CA allows as many CAs below itself as its pathLenConstraint says', () => {
    const limited = ca(undefined, { name: 'Limited', extensions: [pathLength(1), caUsage] });
    const first = ca(limited, { name: 'First' });
    const second = ca(first, { name: 'Second' });
    expect(judge(tokenBy(below(first)), { anchors: [limited.certificate] })).toMatchObject({ ok: true });
    expect(judge(tokenBy(below(second)), { anchors: [limited.certificate] })).toMatchObject({ ok: false, code: 'chain_too_long' });
    const none = ca(root, { name: 'None', extensions: [pathLength(0), caUsage] });
    expect(judge(tokenBy(below(none)), { anchors: [root.certificate] })).toMatchObject({ ok: true });
    expect(judge(tokenBy(below(ca(none))), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'chain_too_long' });
  });

  it('a certificate that a CA issued to itself does not count (RFC 5280 §6.1.4 (l))', () => {
    const limited = ca(undefined, { name: 'Rollover', extensions: [pathLength(0), caUsage] });
    const renewed = ca(limited, { name: 'Rollover', serial: 8n });
    expect(judge(tokenBy(below(renewed), [renewed.certificate]), { anchors: [limited.certificate] })).toMatchObject({ ok: true });
  });

  it.each([
    ['basicConstraints are absent', [caUsage]],
    ['basicConstraints say that it is none', [basicConstraints(false), caUsage]],
    ['its key must not certify', [basicConstraints(true), keyUsage(KEY_USAGE.cRLSign, KEY_USAGE.digitalSignature)]],
  ])('an issuer is no CA when %s', (_name, extensions) => {
    const no = ca(root, { extensions });
    expect(judge(tokenBy(below(no)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'issuer_not_ca' });
    // Being configured makes it trusted, not a CA.
    expect(judge(tokenBy(below(no)), { anchors: [no.certificate] })).toMatchObject({ ok: false, code: 'issuer_not_ca' });
  });

  it.each([1, 0])('a critical extension that is not processed ends it, in certificate %s of the chain', (place) => {
    const unknown = [extension('2.5.29.30', true, sequence())]; // nameConstraints
    const top = ca(undefined, { name: 'Top', extensions: [basicConstraints(true), caUsage, ...(place === 0 ? unknown : [])] });
    const middle = ca(top, { name: 'Middle', extensions: [basicConstraints(true), caUsage, ...(place === 1 ? unknown : [])] });
    expect(judge(tokenBy(below(middle)), { anchors: [top.certificate] })).toMatchObject({ ok: false, code: 'certificate_extension' });
  });

  it('certificate policies may be critical: the policy of a token is its own', () => {
    const policies = extension('2.5.29.32', true, sequence(sequence(objectIdentifier('2.999.1'))));
    const strict = ca(root, { extensions: [basicConstraints(true), caUsage, policies] });
    expect(judge(tokenBy(below(strict)), { anchors: [root.certificate] })).toMatchObject({ ok: true });
  });

  it('an extended key usage of the root counts as well (41)', () => {
    const other = ca(undefined, { extensions: [basicConstraints(true), caUsage, extendedKeyUsage([OID.serverAuth], false)] });
    expect(judge(tokenBy(below(other)), { anchors: [other.certificate] })).toMatchObject({ ok: false, code: 'intermediate_eku' });
  });

  it('an intermediate without the signature of its issuer is no part of a chain', () => {
    const middle = ca(root);
    const signer = below(middle);
    const bent = Buffer.from(middle.certificate);
    bent[bent.length - 1]! ^= 1;
    expect(judge(tokenBy(signer, [bent]), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'chain_signature_invalid' });
  });

  it('purposes beside time-stamping: the same one twice is one too many (39)', () => {
    const signer = issueSigner(root, {
      nowMs: FROM_MS,
      extensions: () => [basicConstraints(false), extendedKeyUsage([OID.timeStamping, OID.timeStamping])],
    });
    expect(judge(tokenBy(signer), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'eku_other_purpose' });
  });
});

describe('names (RFC 5280 §7.1)', () => {
  const root = ca(undefined, { name: 'Root of the  World' });
  const organization = setOf(sequence(objectIdentifier(OID.organizationName), utf8String('QSTAMP development ')));
  const named = (text: Buffer) =>
    below({ ...root, subjectName: sequence(organization, setOf(sequence(objectIdentifier(OID.commonName), text))) });

  it('are the same in another string type, case and spacing', () => {
    const signer = named(tlv(0x13, Buffer.from('root of the World')));
    expect(judge(tokenBy(signer), { anchors: [root.certificate] })).toMatchObject({ ok: true });
  });

  it.each([
    ['another text', utf8String('Root of the Worlds')],
    ['no blank', utf8String('Rootof the World')],
    ['a type that is not folded', tlv(0x14, Buffer.from('root of the World'))],
  ])('are different in %s', (_name, text) => {
    expect(judge(tokenBy(named(text)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'untrusted_root' });
  });

  it('of the SID are compared octet for octet: nobody signed them', () => {
    const { signer } = lab.pki;
    const upper = Buffer.from(signer.issuerName.toString('latin1').replace('Time', 'TIME'), 'latin1');
    const token = tokenBy(signer, signer.chain, { signer: (parts) => ({ ...parts, sid: sequence(upper, signer.serialNumber) }) });
    expect(judge(token, { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: false, code: 'signer_certificate_not_found' });
  });

  it('of the TSA are the signer’s (45)', () => {
    const { signer } = lab.pki;
    const upper = Buffer.from(signer.subjectName.toString('latin1').replace('TSA', 'tsa'), 'latin1');
    const token = tokenBy(signer, signer.chain, { fields: (fields) => ({ ...fields, tsa: directoryName(upper) }) });
    expect(judge(token, { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: true });
  });
});

describe('weak links (46)', () => {
  const sha1Ca: SignatureScheme = {
    ...SCHEMES.rsaSha256,
    certificateAlgorithm: sequence(objectIdentifier(OID.sha1WithRsa), nullValue()),
    sign: (data, key) => sign('sha1', data, key),
  };
  const rsa = (modulusLength: number, scheme: SignatureScheme): SigningKey => ({
    ...generateKeyPairSync('rsa', { modulusLength }),
    scheme,
  });

  it('a CA that signs with SHA-1', () => {
    const root = ca(undefined, { key: rsa(2048, sha1Ca) });
    expect(judge(tokenBy(below(root)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'signature_algorithm_weak' });
  });

  it('a root that signed itself with SHA-1 long ago and with SHA-256 today: nobody relies on its own signature', () => {
    const key = rsa(2048, sha1Ca);
    const root = { ...ca(undefined, { key }), scheme: SCHEMES.rsaSha256 };
    expect(judge(tokenBy(below(root)), { anchors: [root.certificate] })).toMatchObject({ ok: true });
  });

  it('a CA with an RSA key of 1 024 bits', () => {
    const root = ca(undefined, { key: rsa(1024, SCHEMES.rsaSha256) });
    expect(judge(tokenBy(below(root)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'key_too_weak' });
  });

  it('a curve that is not accepted', () => {
    const key = { ...generateKeyPairSync('ec', { namedCurve: 'secp256k1' }), scheme: SCHEMES.ecdsaSha256 };
    expect(judge(tokenBy(lab.signer({ key })), { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: false, code: 'key_too_weak' });
  });

  it('a curve written out instead of named', () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' });
    const key = { ...pair, scheme: SCHEMES.ecdsaSha256 };
    expect(judge(tokenBy(lab.signer({ key })), { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: false, code: 'key_too_weak' });
  });
});

describe('several ways to an anchor', () => {
  const rootKey = generateSigningKey('p-256');
  const root = ca(undefined, { key: rootKey, name: 'Root' });
  const oldRoot = ca(undefined, { name: 'Old root' });
  const key = generateSigningKey('p-256');
  const good = ca(root, { key, name: 'Twice certified' });
  const expired = ca(oldRoot, { key, name: 'Twice certified', notAfterMs: LAB_NOW_MS - DAY_MS });
  const signer = below(good);
  const anchors = [oldRoot.certificate, root.certificate];

  it.each([
    ['first', [expired.certificate, good.certificate]],
    ['last', [good.certificate, expired.certificate]],
  ])('one that holds is enough, when the one that does not comes %s', (_name, certificates) => {
    const result = judge(tokenBy(signer, certificates), { anchors });
    expect(result).toMatchObject({ ok: true, anchorFingerprint: createTrustStore({ anchors: [root.certificate] }).anchorFingerprints[0] });
  });

  it('one that does not hold is none (43)', () => {
    expect(judge(tokenBy(signer, [expired.certificate]), { anchors })).toMatchObject({
      ok: false,
      code: 'certificate_not_valid_at_gen_time',
    });
  });

  it('a root with a new key is told from the old one of its name', () => {
    const renewed = ca(undefined, { name: 'Root' });
    expect(judge(tokenBy(signer, [good.certificate]), { anchors: [renewed.certificate, root.certificate] })).toMatchObject({ ok: true });
  });

  it('a CA or the signer itself may be the anchor', () => {
    expect(judge(tokenBy(signer, [good.certificate]), { anchors: [good.certificate] })).toMatchObject({ ok: true });
    const pinned = judge(tokenBy(signer, []), { anchors: [signer.certificate] });
    expect(pinned).toMatchObject({ ok: true, chain: [signer.certificate] });
  });

  it('CAs that certified each other lead nowhere, and to an end', () => {
    const [oneKey, otherKey] = [generateSigningKey('p-256'), generateSigningKey('p-256')];
    const one = ca(ca(undefined, { name: 'Other', key: otherKey }), { name: 'One', key: oneKey });
    const other = ca(ca(undefined, { name: 'One', key: oneKey }), { name: 'Other', key: otherKey });
    expect(judge(tokenBy(below(one), [one.certificate, other.certificate]), { anchors })).toMatchObject({
      ok: false,
      code: 'untrusted_root',
    });
  });

  it('thirty CAs of one name and one key cost a bounded number of signature checks', () => {
    const many = Array.from({ length: 30 }, (_, i) => ca(root, { key, name: 'Twice certified', serial: BigInt(i + 100) }).certificate);
    const looping = many.map((_, i) => ca({ ...good, chain: [] }, { key, name: 'Twice certified', serial: BigInt(i + 200) }).certificate);
    expect(judge(tokenBy(signer, looping), { anchors: [oldRoot.certificate] })).toMatchObject({ ok: false });
    expect(judge(tokenBy(signer, many), { anchors: [root.certificate] })).toMatchObject({ ok: true });
    expect(judge(tokenBy(signer, [...many, ...many]), { anchors })).toMatchObject({ ok: false, code: 'der_too_large' });
  });
});

describe('what is remembered', () => {
  it('a known chain is judged at each genTime again (V5)', () => {
    const root = ca(undefined, { name: 'Root' });
    const signer = issueSigner(root, { nowMs: FROM_MS, notAfterMs: LAB_NOW_MS + 1000 });
    const trust = createTrustStore({ anchors: [root.certificate] });
    const at = (timeMs: number) =>
      verifyToken(lab.specimen({ profile: { identity: signer }, timeMs }).answer, { trust, nowMs: LAB_NOW_MS + 2 * DAY_MS });
    expect(at(LAB_NOW_MS)).toMatchObject({ ok: true });
    expect(at(LAB_NOW_MS + 60_000)).toMatchObject({ ok: false, code: 'certificate_not_valid_at_gen_time' });
    expect(at(FROM_MS - 2 * DAY_MS)).toMatchObject({ ok: false, code: 'certificate_not_valid_at_gen_time' });
    expect(at(LAB_NOW_MS)).toMatchObject({ ok: true });
  });

  it('what one token brought with it does not help another', () => {
    const trust = createTrustStore({ anchors: [lab.pki.root.certificate] });
    const full = lab.specimen().answer;
    const bare = tokenBy(lab.pki.signer, []);
    for (const [token, ok] of [
      [bare, false],
      [full, true],
      [bare, false],
      [full, true],
    ] as const) {
      expect(verifyToken(token, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok });
    }
  });

  it('a store does not change with the bytes that it was made from, nor a result with the store', () => {
    const anchor = Buffer.from(lab.pki.root.certificate);
    const trust = createTrustStore({ anchors: [anchor] });
    const answer = lab.specimen().answer;
    anchor.fill(0);
    expect(verifyToken(answer, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: true });
    answer.fill(0);
    expect(verifyToken(lab.specimen().answer, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: true });
  });
});

describe('validity to the microsecond (43)', () => {
  const endMs = Math.floor(LAB_NOW_MS / 1000) * 1000;
  const root = issueRoot({ algorithm: 'p-256', nowMs: FROM_MS });
  const until = issueSigner(root, { nowMs: FROM_MS, notAfterMs: endMs });
  const from = issueSigner(root, { nowMs: FROM_MS, notBeforeMs: endMs });
  const at = (identity: SigningIdentity, genTime: string) =>
    judge(tokenBy(identity, [], { fields: (fields) => ({ ...fields, genTime }) }), { anchors: [root.certificate] }).ok;

  it.each([
    ['the last moment of the signer', until, '20261121120000Z', true],
    ['a microsecond later', until, '20261121120000.000001Z', false],
    ['the first moment of the signer', from, '20261121120000Z', true],
    ['a microsecond earlier', from, '20261121115959.999999Z', false],
  ] as const)('%s', (_name, identity, genTime, ok) => {
    expect(at(identity, genTime)).toBe(ok);
  });
});

describe('further certificates of the signing certificate attribute (RFC 5035 §3)', () => {
  const { signer, intermediate, root } = lab.pki;
  const id = (identity: SigningIdentity) =>
    sequence(
      octetString(createHash('sha256').update(identity.certificate).digest()),
      sequence(sequence(directoryName(identity.issuerName)), identity.serialNumber),
    );
  const naming = (...named: readonly SigningIdentity[]): VerifyResult =>
    judge(
      tokenBy(signer, signer.chain, {
        attributes: (attributes) =>
          attributes.map((one) =>
            one.type === OID.signingCertificateV2 ? { ...one, values: [sequence(sequence(...named.map(id)))] } : one,
          ),
      }),
      { anchors: [root.certificate] },
    );

  it('may be those of the chain, with or without the anchor', () => {
    expect(naming(signer, intermediate)).toMatchObject({ ok: true });
    expect(naming(signer, intermediate, root)).toMatchObject({ ok: true });
  });

  it('limit the chain to themselves', () => {
    expect(naming(signer, root)).toMatchObject({ ok: false, code: 'signing_certificate_hash_mismatch' });
    expect(naming(signer, intermediate, lab.signer())).toMatchObject({ ok: false, code: 'signing_certificate_hash_mismatch' });
    expect(naming(intermediate, signer)).toMatchObject({ ok: false, code: 'signing_certificate_hash_mismatch' });
  });
});

describe('certificates that are not as X.509 requires', () => {
  const key = generateSigningKey('p-256');
  const good = [basicConstraints(false), extendedKeyUsage([OID.timeStamping]), subjectKeyIdentifier(key.publicKey)];
  const signerWith = (extensions: readonly Buffer[]) =>
    judge(tokenBy(lab.signer({ key, extensions: () => extensions })), { anchors: [lab.pki.root.certificate] });

  it('an extension twice', () => {
    expect(signerWith(good)).toMatchObject({ ok: true });
    expect(signerWith([...good, extendedKeyUsage([OID.timeStamping])])).toMatchObject({ ok: false, code: 'certificate_malformed' });
  });

  it('an extension whose value is not its type', () => {
    const broken = [OID.basicConstraints, OID.keyUsage, OID.extKeyUsage, OID.subjectKeyIdentifier];
    for (const type of broken) {
      const rest = [basicConstraints(false), keyUsage(0), extendedKeyUsage([OID.timeStamping])].filter(
        (one) => !one.includes(objectIdentifier(type)),
      );
      expect(signerWith([...rest, extension(type, true, nullValue())]), type).toMatchObject({ ok: false, code: 'certificate_malformed' });
      expect(signerWith([...rest, extension(type, true, Buffer.from([0x30, 0x80]))]), type).toMatchObject({
        ok: false,
        code: 'certificate_malformed',
      });
    }
  });

  it('an authority key identifier that points elsewhere', () => {
    const elsewhere = authorityKeyIdentifier(key.publicKey);
    expect(signerWith([...good, elsewhere])).toMatchObject({ ok: false, code: 'untrusted_root' });
  });

  it('two signature algorithms', () => {
    const bent = Buffer.from(lab.pki.signer.certificate);
    // The second one is the one that is not signed: ecdsa-with-SHA256 becomes ecdsa-with-SHA384.
    bent[bent.lastIndexOf(objectIdentifier(OID.ecdsaWithSha256)) + 9] = 3;
    const token = tokenBy({ ...lab.pki.signer, certificate: bent });
    expect(judge(token, { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: false, code: 'certificate_malformed' });
  });
});
