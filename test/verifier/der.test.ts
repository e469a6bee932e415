import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { normalizeBer } from '../../src/shared/rfc3161/asn1/ber.ts';
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
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import { Refusal } from '../../src/shared/rfc3161/refusal/refusal.ts';
import { berOf, chooserOf, indefinite, longForm } from '../support/ber-forms.ts';

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

/** The answer of the gate; BER is made DER before. */
const inDer = (text: string) => codeOf(() => parseDer(hex(text)));
const codeOfBer = (bytes: Buffer) => codeOf(() => parseDer(normalizeBer(bytes).der));
const inBer = (text: string) => codeOfBer(hex(text));

describe('the gate refuses (6–9)', () => {
  it.each<[name: string, text: string, code: ReasonCode]>([
    ['nothing', '', 'der_truncated'],
    ['a tag alone', '30', 'der_truncated'],
    ['a length that is cut off', '30 82 01', 'der_truncated'],
    ['contents that are cut off', '04 02 00', 'der_truncated'],
    ['an octet too many', '05 00 00', 'der_trailing'],
    ['a child larger than its parent', '30 03 04 02 00 00', 'der_malformed'],
    ['a header larger than its parent', '30 01 04', 'der_malformed'],
    ['a length beyond its parent', '30 02 04 82 00 00', 'der_malformed'],
    ['the reserved length ff', '04 ff', 'der_length'],
    ['a tag of several octets', '1f 81 00 00', 'der_malformed'],
    ['the end of contents as an element', '30 02 00 00', 'der_malformed'],
    ['a SEQUENCE called primitive', '10 00', 'der_malformed'],
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
    ['a tag of several octets in a context', '30 80 bf 30 80 00 00 00 00', 'der_malformed'],
  ])('%s, in DER and in BER', (_name, text, code) => {
    expect(inBer(text)).toBe(code);
    if (!text.startsWith('30 80')) expect(inDer(text)).toBe(code);
  });

  it.each<[name: string, text: string, code: ReasonCode]>([
    ['an indefinite length', '30 80 00 00', 'der_length'],
    ['the long form for a short length', '04 81 01 00', 'der_length'],
    ['a leading zero in a length', `04 82 00 80 ${'00'.repeat(128)}`, 'der_length'],
    ['a length of five octets', '04 85 00 00 00 00 01 00', 'der_length'],
    ['an OCTET STRING in pieces', '24 04 04 02 00 00', 'der_not_canonical'],
  ])('%s, in DER', (_name, text, code) => {
    expect(inDer(text)).toBe(code);
  });

  it.each<[name: string, text: string, code: ReasonCode]>([
    ['no end mark', '30 80 02 01 05', 'der_truncated'],
    ['half an end mark', '30 80 02 01 05 00', 'der_truncated'],
    ['an end mark with a length', '30 80 00 01 00 00 00', 'der_malformed'],
    ['two end marks', '30 80 00 00 00 00', 'der_trailing'],
    ['an end mark after a definite length', '30 00 00 00', 'der_trailing'],
    ['a primitive element of indefinite length', '30 80 04 80 00 00 00 00', 'der_length'],
    ['a length of 126 octets that is too large', `30 fe ${'01'.repeat(126)}`, 'der_truncated'],
    ['a child that ends after its parent', '30 03 30 80 00 00 00', 'der_malformed'],
    ['pieces of pieces, eight deep', '24 80'.repeat(8) + '00 00'.repeat(8), 'der_too_deep'],
    ['a piece that is no octet string', '24 03 02 01 05', 'der_malformed'],
    ['a piece with a tag of its own', '24 03 80 01 61', 'der_malformed'],
    ['an integer in pieces', '30 05 22 03 02 01 05', 'der_not_canonical'],
  ])('%s, in BER', (_name, text, code) => {
    expect(inBer(text)).toBe(code);
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

const trees = fc.letrec<{ tree: Buffer; leaf: Buffer }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    tie('leaf'),
    fc
      .tuple(fc.constantFrom(0x30, 0x31, 0xa2), fc.array(tie('tree'), { maxLength: 4 }))
      .map(([tag, list]) => tlv(tag, ...(tag === 0x31 ? list.sort(Buffer.compare) : list))),
  ),
  leaf: fc.oneof(
    fc.bigInt().map(integer),
    fc.uint8Array({ maxLength: 300 }).map((octets) => octetString(octets)),
    fc.array(fc.nat(30), { maxLength: 5 }).map((bits) => namedBits(...bits)),
    fc.array(fc.nat(), { minLength: 1, maxLength: 6 }).map((arcs) => objectIdentifier(`2.${arcs.join('.')}`)),
  ),
})).tree;

describe('the gate accepts', () => {
  it('the output of the writer, and returns the same octets', () => {
    fc.assert(
      fc.property(trees, (der) => {
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
    [integer(128n), '02020080'],
    [integer(-129n), '0202ff7f'],
    [objectIdentifier('1.2.840.113549.1.9.16.1.4'), '060b2a864886f70d0109100104'],
    [objectIdentifier('2.999.3'), '0603883703'],
    [objectIdentifier('2.25.340282366920938463463374607431768211455'), `06146983${'ff'.repeat(17)}7f`],
    [namedBits(25), '03050600000040'],
    [Buffer.from(genTimeText(Date.UTC(2026, 10, 21, 12, 0, 0, 250))), hexOf('20261121120000.25Z')],
    [Buffer.from(genTimeText(Date.UTC(1999, 11, 31, 23, 59, 59, 7))), hexOf('19991231235959.007Z')],
  ])('writes %#: %o as %s', (der, expected) => expect(der.toString('hex')).toBe(expected));

  it.each(['', '1', '3.1', '1.40', '1.2.', '1.02.3', '1.2.-3', 'abc', '1..2'])('refuses an invalid object identifier: "%s"', (dotted) => {
    expect(() => objectIdentifier(dotted)).toThrow(RangeError);
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

  it.each(['19000229000000Z', '20261121120060Z', '20260001000000Z', '20260100000000Z'])('%s does not', (text) => {
    expect(microsecondsOfTime(text)).toBeUndefined();
  });

  it('certificates: UTCTime covers 1950 to 2049 (RFC 5280 §4.1.2.5.1)', () => {
    expect(millisecondsOfTime(parseDer(utcTime('491231235959Z')), 'time')).toBe(Date.UTC(2049, 11, 31, 23, 59, 59));
    expect(millisecondsOfTime(parseDer(utcTime('500101000000Z')), 'time')).toBe(Date.UTC(1950, 0, 1));
    expect(millisecondsOfTime(parseDer(generalizedTime('99991231235959Z')), 'time')).toBe(Date.UTC(9999, 11, 31, 23, 59, 59));
    const bad = [utcTime('491231235959+0100'), generalizedTime('20260101000000.5Z'), generalizedTime('20261301000000Z'), integer(5)];
    for (const der of bad) {
      expect(codeOf(() => millisecondsOfTime(parseDer(der), 'time'))).toBe('der_malformed');
    }
  });
});

describe('BER is read like the DER of the same value (V6)', () => {
  it('DER stays unchanged', () => {
    fc.assert(
      fc.property(trees, (der) => {
        expect(normalizeBer(der)).toEqual({ der, rewritten: [] });
      }),
    );
    const folder = new URL('../fixtures/real-tokens/t/', import.meta.url);
    const tokens = readdirSync(folder).map((name) => readFileSync(new URL(name, folder)));
    const found = tokens.filter((bytes) => codeOf(() => parseDer(bytes)) === 'accepted');
    expect(found.length).toBeGreaterThan(10);
    for (const der of found) expect(normalizeBer(der)).toEqual({ der, rewritten: [] });
  });

  it('every form of a value gives its DER, and reports where the form differed', () => {
    fc.assert(
      fc.property(trees, fc.uint8Array({ minLength: 16, maxLength: 64 }), (der, numbers) => {
        const ber = berOf(parseDer(der), chooserOf(numbers));
        const normalized = normalizeBer(ber);
        expect(normalized.der).toEqual(der);
        expect(normalized.rewritten.length > 0).toBe(!ber.equals(der));
        expect([...normalized.rewritten].sort((a, b) => a - b)).toEqual(normalized.rewritten);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['an indefinite length', '30 80 02 01 05 00 00', '3003020105'],
    ['an empty one', '30 80 00 00', '3000'],
    ['a length of two octets', '30 82 00 03 02 01 05', '3003020105'],
    ['a length of nine octets', '30 89 00 00 00 00 00 00 00 00 03 02 01 05', '3003020105'],
    ['a long length of a primitive element', '30 04 02 81 01 05', '3003020105'],
    ['an octet string in pieces', '24 06 04 01 61 04 01 62', '04026162'],
    ['in pieces of pieces', '24 80 24 80 04 01 61 00 00 04 01 62 00 00', '04026162'],
    ['in no pieces', '24 80 00 00', '0400'],
    ['with empty pieces', '24 07 04 00 04 01 61 04 00', '040161'],
    ['pieces that look like the end', '24 80 04 02 00 00 04 02 00 00 00 00', '040400000000'],
  ])('%s', (_name, ber, der) => {
    expect(normalizeBer(hex(ber)).der.toString('hex')).toBe(der);
  });

  it('has the same limits as DER (9)', () => {
    let deep = indefinite(0x30);
    for (let level = 1; level < TOKEN_LIMITS.maxDepth; level++) deep = indefinite(0x30, deep);
    expect(codeOfBer(deep)).toBe('accepted');
    expect(codeOfBer(indefinite(0x30, deep))).toBe('der_too_deep');
    const many = Buffer.alloc(2 * TOKEN_LIMITS.maxElements, Buffer.from([0x05, 0x00]));
    expect(codeOfBer(indefinite(0x30, many))).toBe('der_too_large');
    expect(codeOfBer(indefinite(0x30, octetString(Buffer.alloc(TOKEN_LIMITS.maxBytes))))).toBe('der_too_large');
    const pieces = indefinite(0x24, Buffer.alloc(3 * 10_000, Buffer.from([0x04, 0x01, 0x61])));
    const empty = indefinite(0x30, Buffer.alloc(4 * 10_000, Buffer.from([0x30, 0x80, 0x00, 0x00])));
    for (const bomb of [pieces, empty]) expect(codeOfBer(bomb)).toBe('der_too_large');
    const open = Buffer.alloc(1000, Buffer.from([0x30, 0x80]));
    expect(codeOfBer(open)).toBe('der_too_deep');
  });

  it('does not change the contents of octet strings', () => {
    const inner = longForm(0x30, integer(5), 3);
    expect(normalizeBer(indefinite(0x30, octetString(inner))).der).toEqual(sequence(octetString(inner)));
    expect(derOf(parseDer(normalizeBer(tlv(0x24, octetString(inner))).der))).toEqual(octetString(inner));
  });
});
