import { createHash } from 'node:crypto';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import { fault, fields, tstInfo, unasked } from './tsa-changes.ts';
import { contentsOf } from './tsa-faults-answer.ts';
import { DAY_MS, type FaultyCase, LAB_NOW_MS, type SpecimenOptions } from './tsa-lab.ts';

/** Refusals 15–23: genuine tokens that do not match the request. */

type Hash = 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';
const identifier = (oid: string) => der.sequence(der.objectIdentifier(oid));
const digestOf = (hash: Hash, text = 'the document') => createHash(hash).update(text).digest();
const imprintBy = (hash: Hash) => fields({ imprint: { algorithmDer: identifier(OID[hash]), digest: digestOf(hash) } });
const digest = (change: (good: Buffer) => Buffer) => fields(({ imprint }) => ({ imprint: { ...imprint, digest: change(imprint.digest) } }));
const algorithm = (algorithmDer: Buffer) => unasked(fields(({ imprint }) => ({ imprint: { ...imprint, algorithmDer } })));
const genTime = (text: string, name: string) => fault('gen_time_malformed', `genTime ${name}`, fields({ genTime: text }));
const at = (timeMs: number): SpecimenOptions => ({ timeMs });
const FULL_SECOND_MS = Math.floor(LAB_NOW_MS / 1000) * 1000;

/** genTime as UTCTime: a valid time, but not the type that RFC 3161 §2.4.2 requires. */
function asUtcTime(info: Buffer, text: string): Buffer {
  const [from, to] = [der.generalizedTime(text), der.utcTime(text.slice(2))];
  const start = info.indexOf(from);
  return der.sequence(contentsOf(Buffer.concat([info.subarray(0, start), to, info.subarray(start + from.length)])));
}

export const TSTINFO_FAULTS: readonly FaultyCase[] = [
  fault(
    'imprint_mismatch',
    'the digest of another document',
    digest(() => digestOf('sha256', 'another document')),
  ),
  fault(
    'imprint_mismatch',
    'one bit of the digest',
    digest((good) => Buffer.concat([good.subarray(0, 31), Buffer.of(good[31]! ^ 1)])),
  ),
  fault('imprint_algorithm_mismatch', 'the SHA-384 of the same document', imprintBy('sha384')),
  fault('imprint_algorithm_mismatch', 'the SHA-512 of the same document', imprintBy('sha512')),
  ...[0, 20, 31, 33, 64].map((octets) =>
    fault('imprint_length', `a SHA-256 digest of ${octets} octets`, unasked(digest(() => Buffer.alloc(octets, 0xab)))),
  ),
  fault('imprint_algorithm_weak', 'a sha1 imprint', unasked(imprintBy('sha1'))),
  fault('imprint_algorithm_weak', 'a md5 imprint', unasked(imprintBy('md5'))),
  fault('imprint_algorithm_unknown', 'an imprint of an algorithm that nobody knows', algorithm(identifier('2.999.3161.16'))),
  fault('imprint_algorithm_unknown', 'a SHA-3 imprint', algorithm(identifier(OID.sha3_256))),
  fault(
    'nonce_mismatch',
    'a nonce one higher',
    fields(({ nonce }) => ({ nonce: nonce! + 1n })),
  ),
  fault(
    'nonce_mismatch',
    'a nonce with the other sign',
    fields(({ nonce }) => ({ nonce: -nonce! })),
  ),
  fault(
    'nonce_mismatch',
    'a nonce with another octet in front',
    fields(({ nonce }) => ({ nonce: nonce! + (1n << 64n) })),
  ),
  fault('nonce_missing', 'no nonce', fields({ nonce: undefined })),
  fault('nonce_unexpected', 'a nonce although none was sent', { ...fields({ nonce: 5n }), ask: { nonce: undefined } }),
  fault('policy_mismatch', 'a policy that was not asked for', { ...fields({ policy: '2.999.3161.99' }), ask: { policy: '2.999.7.1' } }),
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
  fault('gen_time_malformed', 'genTime as UTCTime', {
    timeMs: FULL_SECOND_MS,
    ...tstInfo((info) => asUtcTime(info, genTimeText(FULL_SECOND_MS))),
  }),
  fault('gen_time_outside_window', 'genTime an hour before the request', at(LAB_NOW_MS - 3_600_000)),
  fault('gen_time_future', 'genTime an hour ahead', unasked(at(LAB_NOW_MS + 3_600_000))),
  fault('gen_time_future', 'genTime a day ahead', unasked(at(LAB_NOW_MS + DAY_MS))),
  fault('accuracy_malformed', 'accuracy of 0 millis', fields({ accuracy: { millis: 0 } })),
  fault('accuracy_malformed', 'accuracy of 1 000 millis', fields({ accuracy: { millis: 1000 } })),
  fault('accuracy_malformed', 'accuracy of 1 000 micros', fields({ accuracy: { micros: 1000 } })),
  fault('accuracy_malformed', 'accuracy of less than nothing', fields({ accuracy: { seconds: -1 } })),
  fault('serial_malformed', 'a serial number of 161 bits', fields({ serial: 1n << 160n })),
  fault('serial_malformed', 'a negative serial number of 161 bits', fields({ serial: -(1n << 160n) })),
];
