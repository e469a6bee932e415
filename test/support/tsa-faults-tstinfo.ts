import { createHash } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { generalizedTime, objectIdentifier, sequence, utcTime } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { type Accuracy, genTimeText, type TstInfoFields } from '../../src/shared/rfc3161/issue/encode.ts';
import { contentsOf } from './tsa-faults-answer.ts';
import { DAY_MS, type FaultyCase, LAB_NOW_MS, type SpecimenOptions } from './tsa-lab.ts';

/** Refusals 15–23: true tokens for something else than what was asked. */

function fields(
  code: ReasonCode,
  name: string,
  change: (fields: TstInfoFields) => Partial<TstInfoFields>,
  more: SpecimenOptions = {},
): FaultyCase {
  return { code, name, make: (lab) => lab.specimen({ ...more, seams: { fields: (f) => ({ ...f, ...change(f) }) } }) };
}

const identifier = (oid: string) => sequence(objectIdentifier(oid));

function genTime(text: string, name = `genTime ${text}`): FaultyCase {
  return fields('gen_time_malformed', name, () => ({ genTime: text }));
}

function digestOctets(octets: number): FaultyCase {
  const imprint = (f: TstInfoFields) => ({ imprint: { ...f.imprint, digest: Buffer.alloc(octets, 0xab) } });
  return fields('imprint_length', `a SHA-256 digest of ${octets} octets`, imprint, { withoutRequest: true });
}

function weakImprint(hash: 'md5' | 'sha1'): FaultyCase {
  const digest = createHash(hash).update('the document').digest();
  return fields('imprint_algorithm_weak', `a ${hash} imprint`, () => ({ imprint: { algorithmDer: identifier(OID[hash]), digest } }), {
    withoutRequest: true,
  });
}

/** genTime as UTCTime: good as a time, but not the type that RFC 3161 §2.4.2 names. */
function asUtcTime(der: Buffer, text: string): Buffer {
  const [from, to] = [generalizedTime(text), utcTime(text.slice(2))];
  const at = der.indexOf(from);
  return sequence(contentsOf(Buffer.concat([der.subarray(0, at), to, der.subarray(at + from.length)])));
}

const unknownImprint = (name: string, algorithmDer: Buffer) =>
  fields('imprint_algorithm_unknown', name, (f) => ({ imprint: { ...f.imprint, algorithmDer } }), { withoutRequest: true });
const accuracy = (name: string, value: Accuracy) => fields('accuracy_malformed', name, () => ({ accuracy: value }));

export const TSTINFO_FAULTS: readonly FaultyCase[] = [
  fields('imprint_mismatch', 'the digest of another document', (f) => ({
    imprint: { ...f.imprint, digest: createHash('sha256').update('another document').digest() },
  })),
  fields('imprint_mismatch', 'one bit of the digest', (f) => {
    const digest = Buffer.from(f.imprint.digest);
    digest[31]! ^= 1;
    return { imprint: { ...f.imprint, digest } };
  }),
  fields('imprint_algorithm_mismatch', 'the SHA-384 of the same document', () => ({
    imprint: { algorithmDer: identifier(OID.sha384), digest: createHash('sha384').update('the document').digest() },
  })),
  fields('imprint_algorithm_mismatch', 'the SHA-512 of the same document', () => ({
    imprint: { algorithmDer: identifier(OID.sha512), digest: createHash('sha512').update('the document').digest() },
  })),
  ...[0, 20, 31, 33, 64].map(digestOctets),
  weakImprint('sha1'),
  weakImprint('md5'),
  fields('nonce_mismatch', 'a nonce one higher', (f) => ({ nonce: f.nonce! + 1n })),
  fields('nonce_mismatch', 'a nonce with the other sign', (f) => ({ nonce: -f.nonce! })),
  fields('nonce_mismatch', 'a nonce with another octet in front', (f) => ({ nonce: f.nonce! + (1n << 64n) })),
  fields('nonce_missing', 'no nonce', () => ({ nonce: undefined })),
  fields('policy_mismatch', 'a policy that was not asked for', () => ({ policy: '2.999.3161.99' }), { ask: { policy: '2.999.3161.1' } }),
  genTime('20261121120000', 'genTime without Z'),
  genTime('20261121130000+0100', 'genTime with an offset'),
  genTime('202611211200Z', 'genTime without seconds'),
  genTime('20261121120000,25Z', 'genTime with a comma'),
  genTime('20261121120000.250Z', 'genTime with a trailing zero'),
  genTime('20261121120000.Z', 'genTime with an empty fraction'),
  genTime('20261121120000.0Z', 'genTime with a zero fraction'),
  genTime('20261321120000Z', 'genTime in month 13'),
  genTime('20260230120000Z', 'genTime on 30 February'),
  genTime('20270229120000Z', 'genTime on 29 February of a common year'),
  genTime('20261121240000Z', 'genTime at hour 24'),
  genTime('20261121116000Z', 'genTime at minute 60'),
  genTime('20261121 20000Z', 'genTime with a space'),
  genTime('', 'genTime empty'),
  {
    code: 'gen_time_malformed',
    name: 'genTime as UTCTime',
    make: (lab) =>
      lab.specimen({
        timeMs: Math.floor(LAB_NOW_MS / 1000) * 1000,
        seams: { eContent: (der) => asUtcTime(der, genTimeText(Math.floor(LAB_NOW_MS / 1000) * 1000)) },
      }),
  },
  {
    code: 'gen_time_outside_window',
    name: 'genTime an hour before the request',
    make: (lab) => lab.specimen({ timeMs: LAB_NOW_MS - 3_600_000 }),
  },
  {
    code: 'gen_time_future',
    name: 'genTime an hour ahead',
    make: (lab) => lab.specimen({ timeMs: LAB_NOW_MS + 3_600_000, withoutRequest: true }),
  },
  {
    code: 'gen_time_future',
    name: 'genTime a day ahead',
    make: (lab) => lab.specimen({ timeMs: LAB_NOW_MS + DAY_MS, withoutRequest: true }),
  },
  unknownImprint('an imprint of an algorithm that nobody knows', identifier('2.999.3161.16')),
  unknownImprint('a SHA-3 imprint', identifier(OID.sha3_256)),
  fields('nonce_unexpected', 'a nonce although none was sent', () => ({ nonce: 5n }), { ask: { nonce: undefined } }),
  accuracy('accuracy of 0 millis', { millis: 0 }),
  accuracy('accuracy of 1 000 millis', { millis: 1000 }),
  accuracy('accuracy of 1 000 micros', { micros: 1000 }),
  accuracy('accuracy of less than nothing', { seconds: -1 }),
  fields('serial_malformed', 'a negative serial number', () => ({ serial: -1n })),
  fields('serial_malformed', 'a serial number of 161 bits', () => ({ serial: 1n << 160n })),
];
