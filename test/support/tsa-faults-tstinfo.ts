import { createHash } from 'node:crypto';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import { extension } from './certificates.ts';
import { encoded, mutableOf } from './der-mutation.ts';
import { type FaultRow, fields, tstInfo, unasked } from './tsa-changes.ts';
import { DAY_MS, LAB_NOW_MS, type SpecimenOptions } from './tsa-lab.ts';

/** Refusals 15–23: genuine tokens that do not match the request. */

type Hash = 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';
const identifier = (oid: string) => der.sequence(der.objectIdentifier(oid));
const digestOf = (hash: Hash, text = 'the document') => createHash(hash).update(text).digest();
const imprintBy = (hash: Hash) => fields({ imprint: { algorithmDer: identifier(OID[hash]), digest: digestOf(hash) } });
const digest = (change: (good: Buffer) => Buffer) => fields(({ imprint }) => ({ imprint: { ...imprint, digest: change(imprint.digest) } }));
const algorithm = (algorithmDer: Buffer) => unasked(fields(({ imprint }) => ({ imprint: { ...imprint, algorithmDer } })));
const genTime = (text: string, name: string): FaultRow => ['gen_time_malformed', `genTime ${name}`, fields({ genTime: text })];
/** A valid time of another type in genTime's place. */
const genTimeAs = (name: string, time: Buffer): FaultRow => {
  const exchanged = (info: Buffer) => {
    const root = mutableOf(info);
    root.children[4] = mutableOf(time);
    return encoded(root);
  };
  return ['gen_time_malformed', `genTime as ${name}`, tstInfo(exchanged), false];
};
/** accuracy is the last field if there is neither ordering nor nonce. */
export const accuracyOf = (...parts: readonly Buffer[]): SpecimenOptions => ({
  ask: { nonce: undefined },
  ...tstInfo((info) =>
    encoded({ ...mutableOf(info), children: [...mutableOf(info).children.slice(0, 5), mutableOf(der.sequence(...parts))] }),
  ),
});
const plainExtension = extension('2.999.3161.14', false, der.nullValue());
const at = (timeMs: number): SpecimenOptions => ({ timeMs });
const TIME = genTimeText(LAB_NOW_MS);

export const TSTINFO_FAULTS: readonly FaultRow[] = [
  ['imprint_mismatch', 'the digest of another document', digest(() => digestOf('sha256', 'another document'))],
  ['imprint_mismatch', 'one bit of the digest', digest((good) => Buffer.concat([good.subarray(0, 31), Buffer.of(good[31]! ^ 1)]))],
  ['imprint_algorithm_mismatch', 'the SHA-384 of the same document', imprintBy('sha384')],
  ['imprint_algorithm_mismatch', 'the SHA-512 of the same document', imprintBy('sha512')],
  ...[0, 20, 31, 33, 64].map(
    (octets): FaultRow => ['imprint_length', `a SHA-256 digest of ${octets} octets`, unasked(digest(() => Buffer.alloc(octets, 0xab)))],
  ),
  ['imprint_algorithm_weak', 'a sha1 imprint', unasked(imprintBy('sha1'))],
  ['imprint_algorithm_weak', 'a md5 imprint', unasked(imprintBy('md5'))],
  ['imprint_algorithm_unknown', 'an imprint of an algorithm that nobody knows', algorithm(identifier('2.999.3161.16'))],
  ['imprint_algorithm_unknown', 'a SHA-3 imprint', algorithm(identifier(OID.sha3_256))],
  ['nonce_mismatch', 'a nonce one higher', fields(({ nonce }) => ({ nonce: nonce! + 1n }))],
  ['nonce_mismatch', 'a nonce with the other sign', fields(({ nonce }) => ({ nonce: -nonce! }))],
  ['nonce_mismatch', 'a nonce with another octet in front', fields(({ nonce }) => ({ nonce: nonce! + (1n << 64n) }))],
  ['nonce_missing', 'no nonce', fields({ nonce: undefined })],
  ['nonce_unexpected', 'a nonce although none was sent', { ...fields({ nonce: 5n }), ask: { nonce: undefined } }],
  ['policy_mismatch', 'a policy that was not asked for', { ...fields({ policy: '2.999.3161.99' }), ask: { policy: '2.999.7.1' } }],
  genTime('20261121120000', 'without Z'),
  genTime('20261121130000+0100', 'with an offset'),
  genTime('202611211200Z', 'without seconds'),
  genTime('20261121120000,25Z', 'with a comma'),
  genTime('20261121120000.250Z', 'with a trailing zero'),
  genTime('20261121120000.Z', 'with an empty fraction'),
  genTime('20261121120000.0Z', 'with a zero fraction'),
  genTime('20261321120000Z', 'in month 13'),
  genTime('20260230120000Z', 'on 30 February'),
  genTime('20270229120000Z', 'on 29 February of a common year'),
  genTime('20261121240000Z', 'at hour 24'),
  genTime('20261121116000Z', 'at minute 60'),
  genTime('20261121 20000Z', 'with a space'),
  genTime('', 'empty'),
  genTimeAs('UTCTime', der.utcTime(TIME.slice(2))),
  genTimeAs('UTF8String', der.utf8String(TIME)),
  genTimeAs('PrintableString', der.tlv(0x13, Buffer.from(TIME))),
  ['gen_time_outside_window', 'genTime an hour before the request', at(LAB_NOW_MS - 3_600_000)],
  ['gen_time_future', 'genTime an hour ahead', unasked(at(LAB_NOW_MS + 3_600_000))],
  ['gen_time_future', 'genTime a day ahead', unasked(at(LAB_NOW_MS + DAY_MS))],
  ['accuracy_malformed', 'accuracy of 0 millis', fields({ accuracy: { millis: 0 } })],
  ['accuracy_malformed', 'accuracy of 1 000 millis', fields({ accuracy: { millis: 1000 } })],
  ['accuracy_malformed', 'accuracy of 1 000 micros', fields({ accuracy: { micros: 1000 } })],
  ['accuracy_malformed', 'accuracy of less than nothing', fields({ accuracy: { seconds: -1 } })],
  ['der_not_canonical', 'accuracy with a zero before the millis', accuracyOf(der.integer(1), der.contextPrimitive(0, Buffer.from([0, 5])))],
  ['der_not_canonical', 'accuracy with empty millis', accuracyOf(der.integer(1), der.contextPrimitive(0))],
  ['der_trailing', 'accuracy with seconds after micros', accuracyOf(der.contextPrimitive(1, Buffer.from([5])), der.integer(1))],
  ['der_malformed', 'an empty list of extensions', fields({ extensions: [] }), true],
  ['der_malformed', 'an extension twice', fields({ extensions: [plainExtension, plainExtension] }), true],
  ['serial_malformed', 'a serial number of 161 bits', fields({ serial: 1n << 160n })],
  ['serial_malformed', 'a negative serial number of 161 bits', fields({ serial: -(1n << 160n) })],
];
