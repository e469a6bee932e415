import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeBer } from '../../src/shared/rfc3161/asn1/ber.ts';
import { derOf, parseDer, TOKEN_LIMITS } from '../../src/shared/rfc3161/asn1/der.ts';
import { contextConstructed, integer, octetString, sequence, setOf, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { TAG } from '../../src/shared/rfc3161/asn1/tags.ts';
import { Refusal } from '../../src/shared/rfc3161/refusal/refusal.ts';
import { berOf, chooserOf, indefinite, longForm } from '../support/ber-forms.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const normal = (text: string) => normalizeBer(hex(text)).der.toString('hex');

function codeOf(bytes: Buffer): string {
  try {
    const { der } = normalizeBer(bytes);
    parseDer(der);
    return 'accepted';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const trees = fc.letrec<{ tree: Buffer; leaf: Buffer }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    tie('leaf'),
    fc.array(tie('tree'), { maxLength: 4 }).map((list) => sequence(...list)),
    fc.array(tie('tree'), { maxLength: 4 }).map((list) => setOf(...list)),
    fc.array(tie('tree'), { maxLength: 4 }).map((list) => contextConstructed(2, ...list)),
  ),
  leaf: fc.oneof(
    fc.bigInt().map(integer),
    fc.uint8Array({ maxLength: 300 }).map((octets) => octetString(octets)),
  ),
})).tree;
const choices = fc.uint8Array({ minLength: 16, maxLength: 64 });

describe('BER is read like the DER of the same value (V6)', () => {
  it('DER stays unchanged', () => {
    fc.assert(
      fc.property(trees, (der) => {
        expect(normalizeBer(der)).toEqual({ der, rewritten: [] });
      }),
    );
    const folder = new URL('../fixtures/real-tokens/t/', import.meta.url);
    const tokens = readdirSync(folder).map((name) => readFileSync(new URL(name, folder)));
    const isDer = (bytes: Buffer) => {
      try {
        return parseDer(bytes).tag === TAG.sequence;
      } catch {
        return false;
      }
    };
    const found = tokens.filter(isDer);
    expect(found.length).toBeGreaterThan(10);
    for (const der of found) expect(normalizeBer(der)).toEqual({ der, rewritten: [] });
  });

  it('every form of a value gives its DER, and reports where the form differed', () => {
    fc.assert(
      fc.property(trees, choices, (der, numbers) => {
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
    expect(normal(ber)).toBe(der);
  });

  it.each([
    ['no end mark', '30 80 02 01 05', 'der_truncated'],
    ['half an end mark', '30 80 02 01 05 00', 'der_truncated'],
    ['an end mark inside a definite length', '30 02 00 00', 'der_malformed'],
    ['an end mark with a length', '30 80 00 01 00 00 00', 'der_malformed'],
    ['an end mark in a long form', '30 80 00 81 00 00 00', 'der_malformed'],
    ['two end marks', '30 80 00 00 00 00', 'der_trailing'],
    ['an end mark after a definite length', '30 00 00 00', 'der_trailing'],
    ['a primitive element of indefinite length', '30 80 04 80 00 00 00 00', 'der_length'],
    ['the reserved length', '30 ff 00', 'der_length'],
    ['a length of 126 octets that is too large', `30 fe ${'01'.repeat(126)}`, 'der_truncated'],
    ['a child that ends after its parent', '30 03 30 80 00 00 00', 'der_malformed'],
    ['a piece that is no octet string', '24 03 02 01 05', 'der_malformed'],
    ['a piece of a UTF8String', '24 03 0c 01 61', 'der_malformed'],
    ['a piece with a tag of its own', '24 03 80 01 61', 'der_malformed'],
    ['a bit string in pieces', '30 06 23 04 03 02 00 01', 'der_not_canonical'],
    ['an integer in pieces', '30 05 22 03 02 01 05', 'der_not_canonical'],
    ['a BOOLEAN that is neither 00 nor FF', '30 80 01 01 01 00 00', 'der_not_canonical'],
    ['an INTEGER with a leading zero', '30 80 02 02 00 05 00 00', 'der_not_canonical'],
    ['a tag of two octets', '30 80 1f 81 01 00 00 00', 'der_malformed'],
    ['a tag of two octets of the context', '30 80 bf 30 80 00 00 00 00', 'der_malformed'],
    ['nothing', '', 'der_truncated'],
  ])('refuses %s', (_name, ber, code) => {
    expect(codeOf(hex(ber))).toBe(code);
  });

  it('has the same limits as DER (9)', () => {
    let deep = indefinite(0x30);
    for (let level = 1; level < TOKEN_LIMITS.maxDepth; level++) deep = indefinite(0x30, deep);
    expect(codeOf(deep)).toBe('accepted');
    expect(codeOf(indefinite(0x30, deep))).toBe('der_too_deep');
    const many = Buffer.alloc(2 * TOKEN_LIMITS.maxElements, Buffer.from([0x05, 0x00]));
    expect(codeOf(indefinite(0x30, many))).toBe('der_too_large');
    expect(codeOf(indefinite(0x30, octetString(Buffer.alloc(TOKEN_LIMITS.maxBytes))))).toBe('der_too_large');
    const pieces = indefinite(0x24, Buffer.alloc(3 * 10_000, Buffer.from([0x04, 0x01, 0x61])));
    const empty = indefinite(0x30, Buffer.alloc(4 * 10_000, Buffer.from([0x30, 0x80, 0x00, 0x00])));
    for (const bomb of [pieces, empty]) expect(codeOf(bomb)).toBe('der_too_large');
    const open = Buffer.alloc(1000, Buffer.from([0x30, 0x80]));
    expect(codeOf(open)).toBe('der_too_deep');
  });

  it('does not change the contents of octet strings', () => {
    const inner = longForm(0x30, integer(5), 3);
    expect(normalizeBer(indefinite(0x30, octetString(inner))).der).toEqual(sequence(octetString(inner)));
    expect(derOf(parseDer(normalizeBer(tlv(0x24, octetString(inner))).der))).toEqual(octetString(inner));
  });
});
