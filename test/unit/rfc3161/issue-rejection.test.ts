import { BitString, fromBER, Sequence } from 'asn1js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  boolean,
  contextConstructed,
  integer,
  objectIdentifier,
  octetString,
  sequence,
} from '../../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../../src/shared/rfc3161/asn1/oids.ts';
import { issueResponse, type TsaProfile } from '../../../src/shared/rfc3161/issue/issue.ts';
import { tries } from '../../support/depth.ts';
import { ask, createTsaLab, LAB_NOW_MS, LAB_POLICY } from '../../support/tsa-lab.ts';

describe('a request that is refused gets a rejection that says why (RFC 3161 §2.4.2)', () => {
  const profile: TsaProfile = { identity: createTsaLab('ed25519').pki.signer, policies: [LAB_POLICY] };
  const moment = { timeMs: LAB_NOW_MS, serial: 42n };
  const imprint = (oid: string, octets: number, ...parameters: Buffer[]) =>
    sequence(sequence(objectIdentifier(oid), ...parameters), octetString(Buffer.alloc(octets)));
  const good = imprint(OID.sha256, 32);
  const bit = { badAlg: 0, badRequest: 2, badDataFormat: 5, unacceptedPolicy: 15, unacceptedExtension: 16 };

  /** The rejection with this failure bit and some status text. */
  function failBit(answer: Buffer): number {
    const { result } = fromBER(answer);
    if (!(result instanceof Sequence)) throw new Error('not a TimeStampResp');
    expect(result.valueBlock.value).toHaveLength(1);
    const [statusInfo] = result.valueBlock.value;
    if (!(statusInfo instanceof Sequence)) throw new Error('not a PKIStatusInfo');
    const [status, statusString, failInfo] = statusInfo.valueBlock.value;
    expect(Buffer.from(status!.toBER())).toEqual(integer(2));
    expect(statusString).toBeInstanceOf(Sequence);
    if (!(failInfo instanceof BitString)) throw new Error('not a PKIFailureInfo');
    const bits = failInfo.valueBlock.valueHexView;
    for (let index = 0; index < bits.length * 8; index++) if (bits[index >> 3]! & (0x80 >> (index & 7))) return index;
    throw new Error('no failure bit');
  }

  test.each<[string, keyof typeof bit, Buffer]>([
    ['nothing', 'badDataFormat', Buffer.alloc(0)],
    ['text', 'badDataFormat', Buffer.from('hello')],
    ['a length beyond the end', 'badDataFormat', ask().der.subarray(0, -1)],
    ['an octet after the end', 'badDataFormat', Buffer.concat([ask().der, Buffer.from([0])])],
    ['an indefinite length', 'badDataFormat', Buffer.concat([Buffer.from([0x30, 0x80]), ask().der.subarray(2), Buffer.from([0, 0])])],
    ['a length that is not minimal', 'badDataFormat', Buffer.concat([Buffer.from([0x30, 0x81]), ask().der.subarray(1)])],
    ['no imprint', 'badDataFormat', sequence(integer(1))],
    ['a field that is none', 'badDataFormat', sequence(integer(1), good, octetString(Buffer.alloc(1)))],
    ['fields in another order', 'badDataFormat', sequence(integer(1), good, boolean(true), integer(5))],
    ['a nonce that is not minimal', 'badDataFormat', sequence(integer(1), good, Buffer.from([2, 2, 0, 1]))],
    ['more than 4 096 octets', 'badDataFormat', sequence(integer(1), good, integer(1n << 33_000n))],
    ['a nonce without octets', 'badDataFormat', sequence(integer(1), good, Buffer.from([2, 0]))],
    ['a digest of 31 octets', 'badDataFormat', sequence(integer(1), imprint(OID.sha256, 31))],
    ['a digest of no octets', 'badDataFormat', sequence(integer(1), imprint(OID.sha512, 0))],
    ['version 2', 'badRequest', sequence(integer(2), good)],
    ['SHA-1', 'badAlg', sequence(integer(1), imprint(OID.sha1, 20))],
    ['MD5', 'badAlg', sequence(integer(1), imprint(OID.md5, 16))],
    ['a digest that nobody knows', 'badAlg', sequence(integer(1), imprint('2.999.1', 32))],
    ['parameters of the digest', 'badDataFormat', sequence(integer(1), imprint(OID.sha256, 32, integer(1)))],
    ['another policy', 'unacceptedPolicy', ask({ policy: '2.999.3161.99' }).der],
    [
      'an extension',
      'unacceptedExtension',
      sequence(integer(1), good, contextConstructed(0, sequence(objectIdentifier('2.999.1'), octetString()))),
    ],
  ])('%s: %s', (_name, expected, query) => {
    expect(failBit(issueResponse(profile, query, moment))).toBe(bit[expected]);
  });

  test('whatever the octets are, there is an answer', () => {
    const query = ask().der;
    const mutated = fc.tuple(fc.nat(query.length - 1), fc.nat(255)).map(([at, value]) => {
      const out = Buffer.from(query);
      out[at] = value;
      return out;
    });
    const octets = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, octets), (bytes) => {
        expect(fromBER(issueResponse(profile, bytes, moment)).offset).toBeGreaterThan(0);
      }),
      { numRuns: tries(2000, 300) },
    );
  });
});
