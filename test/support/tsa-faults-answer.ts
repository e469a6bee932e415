import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { extension } from './certificates.ts';
import { encoded, type MutableDer, mutableOf } from './der-mutation.ts';
import {
  attribute,
  attributes,
  type FaultRow,
  fields,
  moreCertificates,
  response,
  signerInfo,
  token,
  tstInfo,
  unasked,
} from './tsa-changes.ts';
import type { SpecimenOptions } from './tsa-lab.ts';

/** Refusals 1–4 and 6–14: the answer, its encoding, and the layers around TSTInfo. */

const UNKNOWN_OID = '2.999.3161.13';
const NULL = der.nullValue();
const ZERO_BITS = der.tlv(0x03, Buffer.from([0, 0x80, 0]));
const TWO_VALUES = [der.utf8String('a'), der.utf8String('b')];

/** The contents of a TLV with a definite length. */
export function contentsOf(tlv: Buffer): Buffer {
  const first = tlv[1]!;
  return tlv.subarray(first < 0x80 ? 2 : 2 + (first & 0x7f));
}

/** The same TLV with one length octet more than needed. */
function nonMinimal(tlv: Buffer): Buffer {
  const contents = contentsOf(tlv);
  const lengthOctets = Buffer.alloc(4);
  lengthOctets.writeUInt32BE(contents.length);
  return Buffer.concat([tlv.subarray(0, 1), Buffer.from([0x84]), lengthOctets, contents]);
}

function indefinite(tlv: Buffer): Buffer {
  return Buffer.concat([tlv.subarray(0, 1), Buffer.from([0x80]), contentsOf(tlv), Buffer.from([0, 0])]);
}

/** `30 …` around itself, `levels` times. */
function nested(levels: number): Buffer {
  let nest = der.sequence();
  for (let level = 1; level < levels; level++) nest = der.sequence(nest);
  return nest;
}

const bend = (change: (answer: Buffer) => Buffer): SpecimenOptions => ({ bend: change });
const withoutToken = (status: number): SpecimenOptions => ({ seams: { response: () => ({ status, failInfo: [25] }) } });
const unsigned = (value: Buffer) => signerInfo({ unsignedAttributes: [{ type: UNKNOWN_OID, values: [value] }] });
const followed =
  (...octets: readonly number[]) =>
  (answer: Buffer) =>
    Buffer.concat([answer, Buffer.from(octets)]);

/** PKIStatusInfo with these members, and the token. */
export const status = (...members: readonly Buffer[]) =>
  bend((answer) => der.sequence(der.sequence(...members), encoded(mutableOf(answer).children[1]!)));

/** A change of eContent in its place: its `[0]`, and the OCTET STRING in it. */
const eContent = (change: (explicit: MutableDer, octets: MutableDer) => void) =>
  bend((answer) => {
    const root = mutableOf(answer);
    const explicit = [1, 1, 0, 2, 1].reduce((element, index) => element.children[index]!, root);
    change(explicit, explicit.children[0]!);
    return encoded(root);
  });

/** ordering is the last field if there is no nonce. */
const orderingOf1: SpecimenOptions = {
  ask: { nonce: undefined },
  profile: { ordering: true },
  ...tstInfo((info) => Buffer.concat([info.subarray(0, -1), Buffer.from([1])])),
};
const ofData = token({ eContentType: OID.data });
const ofDataAndSaysSo: SpecimenOptions = {
  seams: { ...ofData.seams, ...attribute(OID.contentType, (a) => [{ ...a, values: [der.objectIdentifier(OID.data)] }]).seams },
};

export const ANSWER_FAULTS: readonly FaultRow[] = [
  ['not_granted', 'rejection', withoutToken(2)],
  ['not_granted', 'waiting', withoutToken(3)],
  ['not_granted', 'revocationWarning', withoutToken(4)],
  ['not_granted', 'revocationNotification', withoutToken(5)],
  ['not_granted', 'a PKIStatus that does not exist', withoutToken(6)],
  ['token_missing', 'granted without token', response({ token: undefined })],
  ['token_not_granted', 'rejection with a token', response({ status: 2, failInfo: [2] })],
  ['token_not_granted', 'waiting with a token', response({ status: 3 })],
  ['granted_with_mods', 'grantedWithMods', response({ status: 1 })],
  ...[-1, 6, 256, 2 ** 47, 1n << 64n].map(
    (value): FaultRow => ['token_not_granted', `the PKIStatus ${value} with a token`, status(der.integer(value))],
  ),
  ['der_malformed', 'a PKIStatus that is no number', status(NULL)],
  ['der_malformed', 'no PKIStatus', status()],
  ['der_malformed', 'a status text that is not UTF-8', status(der.integer(0), der.sequence(der.ia5String('All is well')))],
  ['der_trailing', 'a status text outside a list', status(der.integer(0), der.utf8String('All is well'))],
  ['der_not_canonical', 'failure bits with a zero octet at the end', bend(() => der.sequence(der.sequence(der.integer(2), ZERO_BITS)))],
  ['status_contradictory', 'granted, and badAlg', response({ failInfo: [0] })],
  ['der_malformed', 'well-formed DER that is no answer', bend(() => der.sequence(der.sequence(der.octetString(Buffer.from('granted')))))],
  ['der_malformed', 'a lone INTEGER', bend(() => der.integer(0))],
  ['der_malformed', 'an empty SEQUENCE', bend(() => der.sequence())],
  ['der_truncated', 'the last octet cut off', bend((answer) => answer.subarray(0, -1))],
  ['der_truncated', 'cut in the middle', bend((answer) => answer.subarray(0, answer.length >> 1))],
  ['der_truncated', 'one octet', bend((answer) => answer.subarray(0, 1))],
  ['der_truncated', 'nothing at all', bend(() => Buffer.alloc(0))],
  ['der_trailing', 'an octet after the end', bend(followed(0)), true],
  ['der_trailing', 'a NULL after the end', bend(followed(5, 0)), true],
  ['der_trailing', 'a third element in TimeStampResp', bend((answer) => der.sequence(contentsOf(answer), NULL))],
  ['der_trailing', 'octets after TSTInfo', tstInfo(followed(5, 0)), true],
  ['der_trailing', 'a further element in TSTInfo', tstInfo((info) => der.sequence(contentsOf(info), der.octetString(Buffer.from('more'))))],
  ['der_length', 'a length longer than needed', bend(nonMinimal)],
  ['der_length', 'an indefinite length', bend(indefinite)],
  ['der_length', 'a length longer than needed inside what is signed', tstInfo(nonMinimal)],
  ['der_length', 'an indefinite length inside what is signed', tstInfo(indefinite)],
  [
    'der_not_canonical',
    'an INTEGER with a leading zero inside what is signed',
    tstInfo((info) => der.sequence(Buffer.from([2, 2, 0, 1]), contentsOf(info).subarray(der.integer(1).length))),
  ],
  ['der_not_canonical', 'a BOOLEAN that is neither 00 nor FF inside what is signed', orderingOf1, true],
  ['der_not_canonical', 'signed attributes that are not in DER order', { seams: { signedAttributes: reversed } }, true],
  [
    'der_not_canonical',
    'a signed attribute whose values are not in DER order',
    {
      seams: { ...attributes((all) => [...all, { type: UNKNOWN_OID, values: TWO_VALUES }]).seams, signedAttributes: withValuesSwapped },
    },
  ],
  ['der_too_deep', '1 000 levels of nesting', unsigned(nested(1000))],
  ['der_too_large', '300 000 elements', unsigned(der.sequence(Buffer.alloc(600_000, NULL)))],
  ['der_too_large', 'a megabyte of octets', unsigned(der.octetString(Buffer.alloc(1024 * 1024)))],
  ['nonce_too_large', 'a nonce of 4 096 octets', unasked(fields({ nonce: 1n << 32760n }))],
  ['not_signed_data', 'ContentInfo is not signedData', token({ contentType: OID.data })],
  ['not_tst_info', 'eContentType is id-data', ofData],
  ['not_tst_info', 'eContentType is id-data, and the signed contentType agrees', ofDataAndSaysSo],
  ['content_missing', 'empty eContent', tstInfo(() => Buffer.alloc(0))],
  ['content_missing', 'detached eContent', token({ eContent: undefined })],
  ['der_trailing', 'two eContents', eContent((explicit, octets) => void explicit.children.push(octets))],
  // The same octets, so the signature would be valid.
  [
    'der_not_canonical',
    'eContent in pieces',
    eContent((_, octets) => Object.assign(octets, { tag: 0x24, children: [{ ...octets }] })),
    true,
  ],
  [
    'der_malformed',
    'eContent as text',
    eContent((_, octets) => Object.assign(octets, { tag: 0x0c, contents: Buffer.from('text'), children: [] })),
  ],
  ['der_malformed', 'an OCTET STRING among the certificates', moreCertificates(der.octetString())],
  ['der_too_large', '257 certificates', (lab) => moreCertificates(...Array<Buffer>(255).fill(lab.pki.signer.certificate))],
  ['tst_info_version', 'TSTInfo version 0', fields({ version: 0 })],
  ['tst_info_version', 'TSTInfo version 2', fields({ version: 2 })],
  [
    'tst_info_extension',
    'a critical TSTInfo extension that nobody knows',
    fields({ extensions: [extension(UNKNOWN_OID, true, der.boolean(true))] }),
  ],
];

function withValuesSwapped(set: Buffer): Buffer {
  const swapped = Buffer.from(set);
  swapped.set(Buffer.concat([...TWO_VALUES].reverse()), set.indexOf(Buffer.concat(TWO_VALUES)));
  return swapped;
}

/** A SET OF with its elements in descending order. */
function reversed(set: Buffer): Buffer {
  const elements: Buffer[] = [];
  for (let rest = contentsOf(set); rest.length > 0; ) {
    const length = rest.length - contentsOf(rest).length + lengthOf(rest);
    elements.unshift(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return der.tlv(0x31, ...elements);
}

/** The number of contents octets that a TLV announces. */
function lengthOf(tlv: Buffer): number {
  const first = tlv[1]!;
  return first < 0x80 ? first : tlv.readUIntBE(2, first & 0x7f);
}
