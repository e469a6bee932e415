import { fromBER, Integer, ObjectIdentifier, Sequence } from 'asn1js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { integer, namedBits, objectIdentifier, octetString, sequence, setOf } from '../../../src/shared/rfc3161/asn1/der-writer.ts';
import { genTimeText } from '../../../src/shared/rfc3161/issue/encode.ts';

const hex = (der: Buffer) => der.toString('hex');

describe('DER out (X.690)', () => {
  test.each([
    [0n, '020100'],
    [1n, '020101'],
    [127n, '02017f'],
    [128n, '02020080'],
    [256n, '02020100'],
    [-1n, '0201ff'],
    [-128n, '020180'],
    [-129n, '0202ff7f'],
    [1n << 63n, '0209008000000000000000'],
  ])('INTEGER %s', (value, expected) => {
    expect(hex(integer(value))).toBe(expected);
  });

  test('INTEGER: asn1js reads back any number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(1n << 200n), max: 1n << 200n }), (value) => {
        const { result, offset } = fromBER(integer(value));
        expect(offset).toBe(integer(value).length);
        expect(result).toBeInstanceOf(Integer);
        if (result instanceof Integer) expect(result.toBigInt()).toBe(value);
      }),
    );
  });

  test.each([
    ['1.2.840.113549.1.9.16.1.4', '060b2a864886f70d0109100104'],
    ['2.999.3', '0603883703'],
    ['0.0', '060100'],
    ['2.5.29.37', '0603551d25'],
    ['2.25.340282366920938463463374607431768211455', `06146983${'ff'.repeat(17)}7f`],
  ])('OBJECT IDENTIFIER %s', (dotted, expected) => {
    expect(hex(objectIdentifier(dotted))).toBe(expected);
  });

  test('OBJECT IDENTIFIER: asn1js reads back any', () => {
    const oid = fc.tuple(fc.constantFrom(0, 1, 2), fc.nat(39), fc.array(fc.nat(2 ** 31), { maxLength: 8 }));
    fc.assert(
      fc.property(oid, ([first, second, others]) => {
        const dotted = [first, second, ...others].join('.');
        const { result } = fromBER(objectIdentifier(dotted));
        expect(result).toBeInstanceOf(ObjectIdentifier);
        if (result instanceof ObjectIdentifier) expect(result.getValue()).toBe(dotted);
      }),
    );
  });

  test.each(['', '1', '3.1', '1.40', '1.2.', '1.02.3', '1.2.-3', 'abc', '1..2'])('not an object identifier: "%s"', (dotted) => {
    expect(() => objectIdentifier(dotted)).toThrow(RangeError);
  });

  test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536, 1_000_000])('a length of %i octets is definite and minimal', (octets) => {
    const der = octetString(Buffer.alloc(octets));
    const header = der.length - octets;
    expect(header).toBe(octets < 128 ? 2 : octets < 256 ? 3 : octets < 65_536 ? 4 : 5);
    const { result, offset } = fromBER(sequence(der));
    expect(offset).toBe(sequence(der).length);
    expect(result).toBeInstanceOf(Sequence);
  });

  test('SET OF: ascending by encoding, a shorter one first', () => {
    const elements = [integer(300), integer(5), octetString(Buffer.from('a')), integer(-1)];
    expect(hex(setOf(...elements))).toBe('310d' + '020105' + '0201ff' + '0202012c' + '040161');
    expect(setOf(...elements.reverse())).toEqual(setOf(...elements));
  });

  test('named bits: no trailing zeros (X.690 §11.2.2)', () => {
    expect(hex(namedBits(0))).toBe('03020780');
    expect(hex(namedBits(5, 6))).toBe('03020106');
    expect(hex(namedBits(25))).toBe('03050600000040');
    expect(hex(namedBits())).toBe('030100');
  });
});

describe('genTime (RFC 3161 §2.4.2)', () => {
  test.each([
    [Date.UTC(2026, 10, 21, 12, 0, 0, 0), '20261121120000Z'],
    [Date.UTC(2026, 10, 21, 12, 0, 0, 250), '20261121120000.25Z'],
    [Date.UTC(2026, 10, 21, 12, 0, 0, 7), '20261121120000.007Z'],
    [Date.UTC(1999, 11, 31, 23, 59, 59, 999), '19991231235959.999Z'],
  ])('%i ms is %s', (timeMs, text) => {
    expect(genTimeText(timeMs)).toBe(text);
  });
});
