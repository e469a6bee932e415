import { createHash } from 'node:crypto';
import { generalizedTime, objectIdentifier, sequence, utcTime } from '../../src/shared/rfc3161/der-writer.ts';
import { genTimeText, type TstInfoFields } from '../../src/shared/rfc3161/issue-encode.ts';
import { OID } from '../../src/shared/rfc3161/oids.ts';
import { contentsOf } from './tsa-faults-answer.ts';
import { DAY_MS, type FaultyCase, LAB_NOW_MS, type SpecimenOptions } from './tsa-lab.ts';

/** Refusals 15–23: true tokens for something else than what was asked. */

function fields(
  refusal: number,
  name: string,
  change: (fields: TstInfoFields) => Partial<TstInfoFields>,
  more: SpecimenOptions = {},
): FaultyCase {
  return { refusal, name, make: (lab) => lab.specimen({ ...more, seams: { fields: (f) => ({ ...f, ...change(f) }) } }) };
}

const identifier = (oid: string) => sequence(objectIdentifier(oid));

function genTime(text: string, name = `genTime ${text}`): FaultyCase {
  return fields(22, name, () => ({ genTime: text }));
}

function digestOctets(octets: number): FaultyCase {
  const imprint = (f: TstInfoFields) => ({ imprint: { ...f.imprint, digest: Buffer.alloc(octets, 0xab) } });
  return fields(17, `a SHA-256 digest of ${octets} octets`, imprint, { withoutRequest: true });
}

function weakImprint(hash: 'md5' | 'sha1'): FaultyCase {
  const digest = createHash(hash).update('the document').digest();
  return fields(18, `a ${hash} imprint`, () => ({ imprint: { algorithm: identifier(OID[hash]), digest } }), { withoutRequest: true });
}

/** genTime as UTCTime: good as a time, but not the type that RFC 3161 §2.4.2 names. */
function asUtcTime(der: Buffer, text: string): Buffer {
  const [from, to] = [generalizedTime(text), utcTime(text.slice(2))];
  const at = der.indexOf(from);
  return sequence(contentsOf(Buffer.concat([der.subarray(0, at), to, der.subarray(at + from.length)])));
}

export const TSTINFO_FAULTS: readonly FaultyCase[] = [
  fields(15, 'the digest of another document', (f) => ({
    imprint: { ...f.imprint, digest: createHash('sha256').update('another document').digest() },
  })),
  fields(15, 'one bit of the digest', (f) => {
    const digest = Buffer.from(f.imprint.digest);
    digest[31]! ^= 1;
    return { imprint: { ...f.imprint, digest } };
  }),
  fields(16, 'the same digest octets called SHA3-256', (f) => ({
    imprint: { ...f.imprint, algorithm: identifier(OID.sha3_256) },
  })),
  fields(16, 'the SHA-512 of the same document', () => ({
    imprint: { algorithm: identifier(OID.sha512), digest: createHash('sha512').update('the document').digest() },
  })),
  ...[0, 20, 31, 33, 64].map(digestOctets),
  weakImprint('sha1'),
  weakImprint('md5'),
  fields(19, 'a nonce one higher', (f) => ({ nonce: f.nonce! + 1n })),
  fields(19, 'a nonce with the other sign', (f) => ({ nonce: -f.nonce! })),
  fields(19, 'a nonce with another octet in front', (f) => ({ nonce: f.nonce! + (1n << 64n) })),
  fields(20, 'no nonce', () => ({ nonce: undefined })),
  fields(21, 'a policy that was not asked for', () => ({ policy: '2.999.3161.99' }), { ask: { policy: '2.999.3161.1' } }),
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
    refusal: 22,
    name: 'genTime as UTCTime',
    make: (lab) =>
      lab.specimen({
        timeMs: Math.floor(LAB_NOW_MS / 1000) * 1000,
        seams: { eContent: (der) => asUtcTime(der, genTimeText(Math.floor(LAB_NOW_MS / 1000) * 1000)) },
      }),
  },
  { refusal: 22, name: 'genTime an hour before the request', make: (lab) => lab.specimen({ timeMs: LAB_NOW_MS - 3_600_000 }) },
  { refusal: 23, name: 'genTime an hour ahead', make: (lab) => lab.specimen({ timeMs: LAB_NOW_MS + 3_600_000, withoutRequest: true }) },
  { refusal: 23, name: 'genTime a day ahead', make: (lab) => lab.specimen({ timeMs: LAB_NOW_MS + DAY_MS, withoutRequest: true }) },
];
