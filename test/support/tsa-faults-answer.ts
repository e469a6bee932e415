import { boolean, integer, objectIdentifier, octetString, sequence, tlv } from '../../src/shared/rfc3161/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/oids.ts';
import { extension } from '../../src/tsa/certificate.ts';
import type { FaultyCase, TsaLab } from './tsa-lab.ts';

/** Refusals 1–4 and 6–14: the answer, its encoding, and the layers around TSTInfo. */

const UNKNOWN_OID = '2.999.3161.13';

/** Changes the DER of TSTInfo before it is signed: the signature is good, the contents are not. */
function tstInfo(refusal: number, name: string, change: (der: Buffer) => Buffer): FaultyCase {
  return { refusal, name, make: (lab) => lab.specimen({ seams: { eContent: change } }) };
}

function bend(refusal: number, name: string, change: (answer: Buffer) => Buffer): FaultyCase {
  return { refusal, name, make: (lab) => lab.specimen({ bend: change }) };
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
  { refusal: 1, name: 'rejection', make: withoutToken(2) },
  { refusal: 1, name: 'waiting', make: withoutToken(3) },
  { refusal: 1, name: 'revocationWarning', make: withoutToken(4) },
  { refusal: 1, name: 'revocationNotification', make: withoutToken(5) },
  { refusal: 1, name: 'a PKIStatus that does not exist', make: withoutToken(6) },
  { refusal: 2, name: 'granted without token', make: (lab) => lab.specimen({ seams: { response: () => ({ status: 0 }) } }) },
  {
    refusal: 3,
    name: 'rejection with a token',
    make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, status: 2, failInfo: [2] }) } }),
  },
  { refusal: 3, name: 'waiting with a token', make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, status: 3 }) } }) },
  { refusal: 4, name: 'grantedWithMods', make: (lab) => lab.specimen({ seams: { response: (parts) => ({ ...parts, status: 1 }) } }) },
  bend(6, 'the last octet cut off', (answer) => answer.subarray(0, -1)),
  bend(6, 'cut in the middle', (answer) => answer.subarray(0, answer.length >> 1)),
  bend(6, 'one octet', (answer) => answer.subarray(0, 1)),
  bend(6, 'nothing at all', () => Buffer.alloc(0)),
  bend(7, 'an octet after the end', (answer) => Buffer.concat([answer, Buffer.from([0])])),
  bend(7, 'a NULL after the end', (answer) => Buffer.concat([answer, Buffer.from([5, 0])])),
  bend(7, 'a third element in TimeStampResp', (answer) => sequence(contentsOf(answer), Buffer.from([5, 0]))),
  tstInfo(7, 'octets after TSTInfo', (der) => Buffer.concat([der, Buffer.from([5, 0])])),
  tstInfo(7, 'a further element in TSTInfo', (der) => sequence(contentsOf(der), octetString(Buffer.from('more')))),
  bend(8, 'a length longer than needed', nonMinimal),
  bend(8, 'an indefinite length', indefinite),
  tstInfo(8, 'a length longer than needed inside what is signed', nonMinimal),
  tstInfo(8, 'an indefinite length inside what is signed', indefinite),
  tstInfo(8, 'an INTEGER with a leading zero inside what is signed', (der) =>
    sequence(Buffer.from([2, 2, 0, 1]), contentsOf(der).subarray(integer(1).length)),
  ),
  {
    refusal: 8,
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
    refusal: 8,
    name: 'signed attributes that are not in DER order',
    make: (lab) => lab.specimen({ seams: { signedAttributes: reversed } }),
  },
  { refusal: 9, name: '1 000 levels of nesting', make: unsigned(nested(1000)) },
  { refusal: 9, name: '100 000 elements', make: unsigned(sequence(Buffer.alloc(200_000, Buffer.from([5, 0])))) },
  { refusal: 9, name: 'a megabyte of octets', make: unsigned(octetString(Buffer.alloc(1024 * 1024))) },
  {
    refusal: 9,
    name: 'a nonce of 4 096 octets',
    make: (lab) => lab.specimen({ seams: { fields: (fields) => ({ ...fields, nonce: 1n << 32760n }) }, withoutRequest: true }),
  },
  {
    refusal: 10,
    name: 'ContentInfo is not signedData',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, contentType: OID.data }) } }),
  },
  {
    refusal: 11,
    name: 'eContentType is id-data',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, eContentType: OID.data }) } }),
  },
  {
    refusal: 11,
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
  tstInfo(12, 'empty eContent', () => Buffer.alloc(0)),
  {
    refusal: 12,
    name: 'detached eContent',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, eContent: undefined }) } }),
  },
  ...[0, 2].map(
    (version): FaultyCase => ({
      refusal: 13,
      name: `TSTInfo version ${version}`,
      make: (lab) => lab.specimen({ seams: { fields: (fields) => ({ ...fields, version }) } }),
    }),
  ),
  {
    refusal: 14,
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
