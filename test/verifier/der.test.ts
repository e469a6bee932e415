import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { derOf, parseDer, TOKEN_LIMITS } from '../../src/shared/rfc3161/asn1/der.ts';
import {
  integerOf,
  isSortedSet,
  microsecondsOfTime,
  millisecondsOfTime,
  namedBitsOf,
  oidOf,
} from '../../src/shared/rfc3161/asn1/der-values.ts';
import {
  generalizedTime,
  integer,
  namedBits,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  tlv,
  utcTime,
} from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { membersOf } from '../../src/shared/rfc3161/asn1/members.ts';
import { TAG } from '../../src/shared/rfc3161/asn1/tags.ts';
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import { Refusal } from '../../src/shared/rfc3161/refusal/refusal.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const hexOf = (text: string) => Buffer.from(text).toString('hex');

function codeOf(read: () => unknown): ReasonCode | 'accepted' {
  try {
    read();
    return 'accepted';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('the gate refuses (6–9)', () => {
  it.each([
    ['nothing', '', 'der_truncated'],
    ['a tag alone', '30', 'der_truncated'],
    ['a length that is cut off', '30 82 01', 'der_truncated'],
    ['contents that are cut off', '04 02 00', 'der_truncated'],
    ['an octet too many', '05 00 00', 'der_trailing'],
    ['a child larger than its parent', '30 03 04 02 00 00', 'der_malformed'],
    ['a header larger than its parent', '30 01 04', 'der_malformed'],
    ['a length beyond its parent', '30 02 04 82 00 00', 'der_malformed'],
    ['an indefinite length', '30 80 00 00', 'der_length'],
    ['an indefinite length inside', '30 04 30 80 00 00', 'der_length'],
    ['the long form for a short length', '04 81 01 00', 'der_length'],
    ['a leading zero in a length', `04 82 00 80 ${'00'.repeat(128)}`, 'der_length'],
    ['a length of five octets', '04 85 00 00 00 00 01 00', 'der_length'],
    ['the reserved length ff', '04 ff', 'der_length'],
    ['a tag of several octets', '1f 81 00 00', 'der_malformed'],
    ['a tag of several octets in a context', '9f 1f 00', 'der_malformed'],
    ['the end of contents as an element', '30 02 00 00', 'der_malformed'],
    ['a SEQUENCE called primitive', '10 00', 'der_malformed'],
    ['an OCTET STRING in pieces', '24 04 04 02 00 00', 'der_not_canonical'],
    ['a BIT STRING in pieces', '23 04 03 02 00 00', 'der_not_canonical'],
    ['a UTF8String in pieces', '2c 03 0c 01 41', 'der_not_canonical'],
    ['an EXTERNAL', '28 00', 'der_not_canonical'],
    ['a REAL', '09 00', 'der_malformed'],
    ['a BOOLEAN of 01', '01 01 01', 'der_not_canonical'],
    ['a BOOLEAN without a value', '01 00', 'der_not_canonical'],
    ['a BOOLEAN of two octets', '01 02 ff ff', 'der_not_canonical'],
    ['an INTEGER without a value', '02 00', 'der_not_canonical'],
    ['an INTEGER with a zero in front', '02 02 00 7f', 'der_not_canonical'],
    ['an INTEGER with ff in front', '02 02 ff 80', 'der_not_canonical'],
    ['an ENUMERATED with a zero in front', '0a 02 00 01', 'der_not_canonical'],
    ['a BIT STRING without its count', '03 00', 'der_not_canonical'],
    ['a BIT STRING with 8 unused bits', '03 02 08 00', 'der_not_canonical'],
    ['an empty BIT STRING with unused bits', '03 01 01', 'der_not_canonical'],
    ['a BIT STRING whose unused bits are set', '03 02 01 01', 'der_not_canonical'],
    ['a NULL with contents', '05 01 00', 'der_not_canonical'],
    ['an empty OBJECT IDENTIFIER', '06 00', 'der_not_canonical'],
    ['an OBJECT IDENTIFIER that does not end', '06 02 2a 86', 'der_not_canonical'],
    ['an OBJECT IDENTIFIER with an arc longer than needed', '06 03 2a 80 01', 'der_not_canonical'],
    ['a UTF8String that is none', '0c 02 c3 28', 'der_not_canonical'],
    ['a PrintableString beyond ASCII', '13 01 e9', 'der_not_canonical'],
    ['a BMPString of half a character', '1e 01 41', 'der_not_canonical'],
  ] as const)('%s', (_name, text, code) => {
    expect(codeOf(() => parseDer(hex(text)))).toBe(code);
  });

  it('9: more octets, elements or levels than any time-stamp has, without stack overflow', () => {
    let deep = sequence();
    for (let level = 0; level < TOKEN_LIMITS.maxDepth; level++) deep = sequence(deep);
    expect(codeOf(() => parseDer(deep))).toBe('der_too_deep');
    expect(codeOf(() => parseDer(deep.subarray(2)))).toBe('accepted');
    expect(codeOf(() => parseDer(sequence(Buffer.alloc(2 * TOKEN_LIMITS.maxElements, Buffer.from([0x05, 0x00])))))).toBe('der_too_large');
    expect(codeOf(() => parseDer(octetString(Buffer.alloc(TOKEN_LIMITS.maxBytes))))).toBe('der_too_large');
    // Each level contains only the next, deeper than any stack.
    let bomb = sequence();
    while (bomb.length < 64 * 1024) bomb = sequence(bomb);
    expect(codeOf(() => parseDer(bomb))).toBe('der_too_deep');
  });
});

describe('the gate accepts', () => {
  it('the output of the writer, and returns the same octets', () => {
    const { tree: value } = fc.letrec<{ tree: Buffer; leaf: Buffer }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        tie('leaf'),
        fc.array(tie('tree'), { maxLength: 4 }).map((list) => sequence(...list)),
      ),
      leaf: fc.oneof(
        fc.bigInt().map(integer),
        fc.uint8Array({ maxLength: 300 }).map((octets) => octetString(octets)),
        fc.array(fc.nat(30), { maxLength: 5 }).map((bits) => namedBits(...bits)),
        fc.array(fc.nat(), { minLength: 1, maxLength: 6 }).map((arcs) => objectIdentifier(`2.${arcs.join('.')}`)),
      ),
    }));
    fc.assert(
      fc.property(value, (der) => {
        const parsed = parseDer(der);
        expect(derOf(parsed).equals(der)).toBe(true);
        const children = Buffer.concat(parsed.children.map(derOf));
        expect(children.equals(der.subarray(der.length - children.length))).toBe(true);
      }),
    );
  });

  it('a view into a larger buffer, at its offset', () => {
    const padded = Buffer.concat([Buffer.alloc(7, 0xff), integer(300), Buffer.alloc(3, 0xff)]);
    expect(integerOf(parseDer(new Uint8Array(padded.buffer, padded.byteOffset + 7, 4)), 'number')).toBe(300n);
  });
});

describe('the writer', () => {
  it.each([
    [integer(0n), '020100'],
    [integer(1n), '020101'],
    [integer(127n), '02017f'],
    [integer(128n), '02020080'],
    [integer(256n), '02020100'],
    [integer(-1n), '0201ff'],
    [integer(-128n), '020180'],
    [integer(-129n), '0202ff7f'],
    [integer(1n << 63n), '0209008000000000000000'],
    [objectIdentifier('1.2.840.113549.1.9.16.1.4'), '060b2a864886f70d0109100104'],
    [objectIdentifier('2.999.3'), '0603883703'],
    [objectIdentifier('0.0'), '060100'],
    [objectIdentifier('2.25.340282366920938463463374607431768211455'), `06146983${'ff'.repeat(17)}7f`],
    [namedBits(0), '03020780'],
    [namedBits(5, 6), '03020106'],
    [namedBits(25), '03050600000040'],
    [namedBits(), '030100'],
    [Buffer.from(genTimeText(Date.UTC(2026, 10, 21, 12))), hexOf('20261121120000Z')],
    [Buffer.from(genTimeText(Date.UTC(2026, 10, 21, 12, 0, 0, 250))), hexOf('20261121120000.25Z')],
    [Buffer.from(genTimeText(Date.UTC(1999, 11, 31, 23, 59, 59, 7))), hexOf('19991231235959.007Z')],
  ])('writes %#: %o as %s', (der, expected) => expect(der.toString('hex')).toBe(expected));

  it.each(['', '1', '3.1', '1.40', '1.2.', '1.02.3', '1.2.-3', 'abc', '1..2'])('refuses an invalid object identifier: "%s"', (dotted) => {
    expect(() => objectIdentifier(dotted)).toThrow(RangeError);
  });
});

describe('members', () => {
  it('a missing member, a wrong type or an extra member is refused', () => {
    const members = () => membersOf(parseDer(sequence(integer(1), octetString())), 'Sample');
    expect(codeOf(() => members().take(TAG.octetString, 'first'))).toBe('der_malformed');
    expect(codeOf(() => members().end())).toBe('der_trailing');
    const both = members();
    both.take(TAG.integer, 'first');
    expect(both.optional(TAG.boolean)).toBeUndefined();
    both.take(TAG.octetString, 'second');
    both.end();
    expect(codeOf(() => both.any('third'))).toBe('der_malformed');
    expect(codeOf(() => membersOf(parseDer(setOf()), 'Sample'))).toBe('der_malformed');
  });
});

describe('values', () => {
  it('an INTEGER of any size reads back as written', () => {
    const roundTrip = (value: bigint): void => {
      expect(integerOf(parseDer(integer(value)), 'number')).toBe(value);
    };
    fc.assert(fc.property(fc.bigInt({ min: -(1n << 520n), max: 1n << 520n }), roundTrip));
    for (let bits = 0n; bits < 80n; bits++)
      for (const value of [1n << bits, -(1n << bits)]) for (const off of [-1n, 0n, 1n]) roundTrip(value + off);
  });

  it('an OBJECT IDENTIFIER reads back as written', () => {
    const arcs = fc.array(fc.bigInt({ min: 0n, max: 1n << 128n }), { maxLength: 3 });
    const top = fc.oneof(fc.tuple(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 39 })), fc.tuple(fc.constant(2), fc.nat()));
    fc.assert(
      fc.property(top, arcs, (first, others) => {
        const dotted = [...first, ...others].join('.');
        expect(oidOf(parseDer(objectIdentifier(dotted)), 'oid')).toBe(dotted);
      }),
    );
    expect(codeOf(() => oidOf(parseDer(tlv(6, Buffer.alloc(65, 0x7f))), 'oid'))).toBe('der_too_large');
  });

  it('named bits: returns the set bits; trailing zero bits are not DER (X.690 §11.2.2)', () => {
    expect([...namedBitsOf(parseDer(namedBits(0, 5, 6)), 'bits')]).toEqual([0, 5, 6]);
    expect([...namedBitsOf(parseDer(namedBits(25)), 'bits')]).toEqual([25]);
    expect([...namedBitsOf(parseDer(namedBits()), 'bits')]).toEqual([]);
    expect(codeOf(() => namedBitsOf(parseDer(hex('03 02 06 80')), 'bits'))).toBe('der_not_canonical');
    expect(codeOf(() => namedBitsOf(parseDer(hex('03 03 07 80 00')), 'bits'))).toBe('der_not_canonical');
  });

  it('a SET OF is sorted by its encodings (X.690 §11.6)', () => {
    const set = parseDer(setOf(octetString(Buffer.from('b')), integer(5), octetString(Buffer.from('a'))));
    expect(isSortedSet(set.children)).toBe(true);
    expect(isSortedSet([...set.children].reverse())).toBe(false);
  });
});

describe('times', () => {
  it('every millisecond reads back as written', () => {
    const time = fc.integer({ min: Date.UTC(0, 0, 1), max: Date.UTC(9999, 11, 31) });
    fc.assert(
      fc.property(time, (timeMs) => {
        expect(microsecondsOfTime(genTimeText(timeMs))).toBe(BigInt(timeMs) * 1000n);
      }),
    );
  });

  it.each([
    ['20261121120000.1Z', 100_000n],
    ['20261121120000.123456Z', 123_456n],
    ['20261121120000.1234569Z', 123_456n],
    ['20261121120000.0000001Z', 0n],
  ])('%s', (text, micros) => {
    expect(microsecondsOfTime(text)).toBe(BigInt(Date.UTC(2026, 10, 21, 12)) * 1000n + micros);
  });

  it.each(['20240229000000Z', '20000229235959Z', '00010101000000Z'])('%s exists', (text) => {
    expect(microsecondsOfTime(text)).toBeTypeOf('bigint');
  });

  it.each([
    '20230229000000Z',
    '19000229000000Z',
    '20261121120060Z',
    '20261131000000Z',
    '20260001000000Z',
    '20260100000000Z',
    ' 0261121120000Z',
  ])('%s does not', (text) => {
    expect(microsecondsOfTime(text)).toBeUndefined();
  });

  it('certificates: UTCTime covers 1950 to 2049 (RFC 5280 §4.1.2.5.1)', () => {
    expect(millisecondsOfTime(parseDer(utcTime('491231235959Z')), 'time')).toBe(Date.UTC(2049, 11, 31, 23, 59, 59));
    expect(millisecondsOfTime(parseDer(utcTime('500101000000Z')), 'time')).toBe(Date.UTC(1950, 0, 1));
    expect(millisecondsOfTime(parseDer(generalizedTime('99991231235959Z')), 'time')).toBe(Date.UTC(9999, 11, 31, 23, 59, 59));
    for (const bad of [
      utcTime('4912312359Z'),
      utcTime('491231235959+0100'),
      generalizedTime('20260101000000.5Z'),
      generalizedTime('20261301000000Z'),
      integer(5),
    ]) {
      expect(codeOf(() => millisecondsOfTime(parseDer(bad), 'time'))).toBe('der_malformed');
    }
  });
});
