import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { boolean, integer, objectIdentifier, octetString, sequence, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { extension } from '../../src/tsa/certificate.ts';
import type { FaultyCase, TsaLab } from './tsa-lab.ts';

/** Refusals 1–4 and 6–14: the answer, its encoding, and the layers around TSTInfo. */

const UNKNOWN_OID = '2.999.3161.13';

/** Changes the DER of TSTInfo before it is signed: the signature is good, the contents are not. */
function tstInfo(code: ReasonCode, name: string, change: (der: Buffer) => Buffer): FaultyCase {
  return { code, name, make: (lab) => lab.specimen({ seams: { eContent: change } }) };
}

function bend(code: ReasonCode, name: string, change: (answer: Buffer) => Buffer): FaultyCase {
  return { code, name, make: (lab) => lab.specimen({ bend: change }) };
}

/** The contents of a TLV with a definite length. */
export function contentsOf(der: Buffer): Buffer {
  const first = der[1]!;
  return der.subarray(first < 0x80 ? 2 : 2 + (first & 0x7f));
}

/** The same TLV with one length octet more than needed. */
function nonMinimal(der: Buffer): Buffer {
  const contents = contentsOf(der);
  const lengthOctets = Buffer.alloc(4);
  lengthOctets.writeUInt32BE(contents.length);
  return Buffer.concat([der.subarray(0, 1), Buffer.from([0x84]), lengthOctets, contents]);
}

function indefinite(der: Buffer): Buffer {
  return Buffer.concat([der.subarray(0, 1), Buffer.from([0x80]), contentsOf(der), Buffer.from([0, 0])]);
}

/** `30 …` around itself, `levels` times. */
function nested(levels: number): Buffer {
  let der = sequence();
  for (let level = 1; level < levels; level++) der = sequence(der);
  return der;
}

const withoutToken = (status: number) => (lab: TsaLab) => lab.specimen({ seams: { response: () => ({ status, failInfo: [25] }) } });

const unsigned = (value: Buffer) => (lab: TsaLab) =>
  lab.specimen({ seams: { signer: (signer) => ({ ...signer, unsignedAttributes: [{ type: UNKNOWN_OID, values: [value] }] }) } });

export const ANSWER_FAULTS: readonly FaultyCase[] = [
  { code: 'not_granted', name: 'rejection', make: withoutToken(2) },
  { code: 'not_granted', name: 'waiting', make: withoutToken(3) },
  { code: 'not_granted', name: 'revocationWarning', make: withoutToken(4) },
  { code: 'not_granted', name: 'revocationNotification', make: withoutToken(5) },
  { code: 'not_granted', name: 'a PKIStatus that does not exist', make: withoutToken(6) },
  { code: 'token_missing', name: 'granted without token', make: (lab) => lab.specimen({ seams: { response: () => ({ status: 0 }) } }) },
  {
    code: 'token_not_granted',
    name: 'rejection with a token',
    make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, status: 2, failInfo: [2] }) } }),
  },
  {
    code: 'token_not_granted',
    name: 'waiting with a token',
    make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, status: 3 }) } }),
  },
  {
    code: 'granted_with_mods',
    name: 'grantedWithMods',
    make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, status: 1 }) } }),
  },
  {
    code: 'status_contradictory',
    name: 'granted, and badAlg',
    make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, failInfo: [0] }) } }),
  },
  bend('der_malformed', 'well-formed DER that is no answer', () => sequence(sequence(octetString(Buffer.from('granted'))))),
  bend('der_malformed', 'a lone INTEGER', () => integer(0)),
  bend('der_malformed', 'an empty SEQUENCE', () => sequence()),
  bend('der_truncated', 'the last octet cut off', (answer) => answer.subarray(0, -1)),
  bend('der_truncated', 'cut in the middle', (answer) => answer.subarray(0, answer.length >> 1)),
  bend('der_truncated', 'one octet', (answer) => answer.subarray(0, 1)),
  bend('der_truncated', 'nothing at all', () => Buffer.alloc(0)),
  bend('der_trailing', 'an octet after the end', (answer) => Buffer.concat([answer, Buffer.from([0])])),
  bend('der_trailing', 'a NULL after the end', (answer) => Buffer.concat([answer, Buffer.from([5, 0])])),
  bend('der_trailing', 'a third element in TimeStampResp', (answer) => sequence(contentsOf(answer), Buffer.from([5, 0]))),
  tstInfo('der_trailing', 'octets after TSTInfo', (der) => Buffer.concat([der, Buffer.from([5, 0])])),
  tstInfo('der_trailing', 'a further element in TSTInfo', (der) => sequence(contentsOf(der), octetString(Buffer.from('more')))),
  bend('der_length', 'a length longer than needed', nonMinimal),
  bend('der_length', 'an indefinite length', indefinite),
  tstInfo('der_length', 'a length longer than needed inside what is signed', nonMinimal),
  tstInfo('der_length', 'an indefinite length inside what is signed', indefinite),
  tstInfo('der_not_canonical', 'an INTEGER with a leading zero inside what is signed', (der) =>
    sequence(Buffer.from([2, 2, 0, 1]), contentsOf(der).subarray(integer(1).length)),
  ),
  {
    code: 'der_not_canonical',
    name: 'a BOOLEAN that is neither 00 nor FF inside what is signed',
    make: (lab) =>
      lab.specimen({
        ask: { nonce: undefined },
        profile: { ordering: true },
        // ordering is the last field when there is no nonce.
        seams: { eContent: (der) => Buffer.concat([der.subarray(0, -1), Buffer.from([1])]) },
      }),
  },
  {
    code: 'der_not_canonical',
    name: 'signed attributes that are not in DER order',
    make: (lab) => lab.specimen({ seams: { signedAttributes: reversed } }),
  },
  { code: 'der_too_deep', name: '1 000 levels of nesting', make: unsigned(nested(1000)) },
  { code: 'der_too_large', name: '300 000 elements', make: unsigned(sequence(Buffer.alloc(600_000, Buffer.from([5, 0])))) },
  { code: 'der_too_large', name: 'a megabyte of octets', make: unsigned(octetString(Buffer.alloc(1024 * 1024))) },
  {
    code: 'nonce_too_large',
    name: 'a nonce of 4 096 octets',
    make: (lab) => lab.specimen({ seams: { fields: (fields) => ({ ...fields, nonce: 1n << 32760n }) }, withoutRequest: true }),
  },
  {
    code: 'not_signed_data',
    name: 'ContentInfo is not signedData',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, contentType: OID.data }) } }),
  },
  {
    code: 'not_tst_info',
    name: 'eContentType is id-data',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, eContentType: OID.data }) } }),
  },
  {
    code: 'not_tst_info',
    name: 'eContentType is id-data, and the signed contentType agrees',
    make: (lab) =>
      lab.specimen({
        seams: {
          token: (parts) => ({ ...parts, eContentType: OID.data }),
          attributes: (attributes) =>
            attributes.map((a) => (a.type === OID.contentType ? { ...a, values: [objectIdentifier(OID.data)] } : a)),
        },
      }),
  },
  {
    code: 'cms_version',
    name: 'SignedData version 1 although the content is not id-data',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, version: 1 }) } }),
  },
  {
    code: 'cms_version',
    name: 'SignerInfo version 3 with an issuer and serial number',
    make: (lab) => lab.specimen({ seams: { signer: (signer) => ({ ...signer, version: 3 }) } }),
  },
  tstInfo('content_missing', 'empty eContent', () => Buffer.alloc(0)),
  {
    code: 'content_missing',
    name: 'detached eContent',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, eContent: undefined }) } }),
  },
  ...[0, 2].map(
    (version): FaultyCase => ({
      code: 'tst_info_version',
      name: `TSTInfo version ${version}`,
      make: (lab) => lab.specimen({ seams: { fields: (fields) => ({ ...fields, version }) } }),
    }),
  ),
  {
    code: 'tst_info_extension',
    name: 'a critical TSTInfo extension that nobody knows',
    make: (lab) =>
      lab.specimen({
        seams: { fields: (fields) => ({ ...fields, extensions: [extension(UNKNOWN_OID, true, boolean(true))] }) },
      }),
  },
];

/** A SET OF with its elements in descending order. */
function reversed(set: Buffer): Buffer {
  const elements: Buffer[] = [];
  for (let rest = contentsOf(set); rest.length > 0; ) {
    const length = rest.length - contentsOf(rest).length + lengthOf(rest);
    elements.unshift(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return tlv(0x31, ...elements);
}

/** The number of contents octets that a TLV announces. */
function lengthOf(der: Buffer): number {
  const first = der[1]!;
  return first < 0x80 ? first : der.readUIntBE(2, first & 0x7f);
}
