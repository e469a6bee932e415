import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedJsonError, parseJsonText } from '../../../src/api/http/json-text.ts';
import { tries } from '../../support/depth.ts';

function faultOf(text: string | Buffer) {
  try {
    return { value: parseJsonText(Buffer.from(text)).value };
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error;
    const [item] = error.detail;
    return { loc: item?.loc, error: item?.ctx?.error };
  }
}

/** The bar stands before the fault. */
test.each([
  ...['¦', '{"token": ¦', '{"token": "x¦', '[tru¦', '¦undefined', '¦x', '¦NaN', '¦\ufeff\ufeff{}', '[¦trux]'],
  ...['[¦Infinity]', "{¦'a':1}", '\ufeff¦{,', '{"a":-¦Infinity}', '{"x": ¦x}', '{"a": ¦}', '{"a":"¦\t"}', '{"a":1,¦}'],
  ...['{"a"¦, 1}', '[[], [1,¦]]', '[1 ¦2]', '{"a":1 ¦"b":2}', '{"[,": "\\",]", "b": ¦,}', '{}¦{}'],
])('E2: %j is refused at the position that V8 reports', (marked) => {
  expect(faultOf(marked.replace('¦', ''))).toEqual({ loc: ['body', marked.indexOf('¦')], error: expect.any(String) });
});

test.each([
  ['in a text', '7b22c3a9ff227d', 3],
  ['cut off', '22e282', 1],
  ['a surrogate', '22eda08022', 1],
  ['UTF-16', 'fffe7b00', 0],
  ['behind a byte order mark', 'efbbbf22ff22', 1],
])('E2: octets that are not UTF-8: %s', (_name, octets, offset) => {
  expect(faultOf(Buffer.from(octets, 'hex'))).toEqual({ loc: ['body', offset], error: 'Invalid UTF-8' });
});

test('E2: one byte order mark is skipped', () => {
  expect(faultOf('\ufeff{"a":1}')).toEqual({ value: { a: 1 } });
});

test('E2: a metadata value may nest to 64 levels, not counting the body and the metadata object', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}"]["${']'.repeat(levels)}`;
  expect(faultOf(`{"metadata":{"a":${nested(64)}}}`)).toHaveProperty('value');
  expect(faultOf(nested(67))).toEqual({ loc: ['body', 0], error: 'Nested deeper than 66 levels' });
});

test('E2: a fault after megabytes of brackets is found without a deep stack; if V8 gives no position, a long text is not searched', () => {
  const levels = 2_000_000;
  expect(faultOf('['.repeat(levels))).toMatchObject({ loc: ['body', levels] });
  expect(faultOf(`${'['.repeat(levels)}x`)).toMatchObject({ loc: ['body', 0] });
});

test('E2: an object with too many members is refused before it is built', () => {
  const members = Array.from({ length: 60_000 }, (_, index) => `"k${index}":0`).join(',');
  expect(faultOf(`{"metadata":{${members}}}`)).toEqual({ loc: ['body', 0], error: 'More than 50000 members' });
});

test('any octets give a value, or json_invalid at a position in the text', () => {
  const mutated = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', '"', '\\', '\u0001', '😀', 'x'))
    .map(([text, at, piece]) => text.slice(0, at % (text.length + 1)) + piece + text.slice((at % (text.length + 1)) + 1));
  const octets = fc.uint8Array().map((each) => Buffer.from(each).toString('latin1'));
  const property = fc.property(fc.oneof(mutated, fc.string({ unit: 'binary' }), octets), (text) => {
    const answer = faultOf(text);
    const offset = 'value' in answer ? 0 : Number(answer.loc?.[1]);
    expect(offset >= 0 && offset <= text.length).toBe(true);
  });
  fc.assert(property, { numRuns: tries(2000, 500) });
});

test.each([
  ['{"briefing_metadata":{"a":1.0},"briefing_metadata": {"b" : 2.0}}', '{"b":2.0}'],
  ['{"a":1.0,"briefing_metadata":{"__proto__":1e2,"[":[{},[],-0.0]}}', '{"__proto__":1e2,"[":[{},[],-0.0]}'],
  ['{"a":[{"briefing_metadata":1.0}],"briefing_metadata":{"a":1e400,"b":12345678901234567890}}', '{"a":1e400,"b":12345678901234567890}'],
])('W15: metadata numbers are kept exactly as sent: %s', (text, kept) => {
  const { briefing_metadata: metadata } = parseJsonText(Buffer.from(text)).value as { briefing_metadata: object };
  expect(JSON.stringify(metadata)).toBe(kept);
});

const long = 'x'.repeat(300);
test.each([
  ...['1.0', '-0', ' 12345678901234567890 ', '[1,-2,0.5,1e400]', '{"a":"1.0","b":10E1}', '{"a":"\\"","b":1.0}', '{"a":"\\\\","b":1.0}'],
  ...[`${long}\\"${long}`, `${long}\\\\`, `${long}é😀`].map((text) => `{"a":"${text}","b":1.0}`),
])('E1: in %s the numbers keep the characters that JSON would not write', (text) => {
  const { value, written } = parseJsonText(Buffer.from(text));
  expect([written === value, JSON.stringify(written)]).toEqual([false, text.trim()]);
});
test.each(['{"a":"1.0 \\" 2.0","1.0":-1.5e-7,"c":9007199254740991}', `["${long}, 1.0 \\" 2.0","\\\\",-7,0]`])(
  'E1: in %s all numbers are as JSON would write them',
  (text) => {
    const { value, written } = parseJsonText(Buffer.from(text));
    expect([written === value, JSON.stringify(written)]).toEqual([true, text]);
  },
);

test('E1: numbers are kept, whatever stands between them', () => {
  const number = fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,3})?([eE][+-]?\d{1,3})?$/);
  const text = fc.string({ unit: 'binary' }).map((given) => JSON.stringify(given));
  fc.assert(
    fc.property(fc.array(fc.oneof(number, text), { maxLength: 6 }), (items) => {
      const given = `{"a":[${items.join()}]}`;
      expect(JSON.stringify(parseJsonText(Buffer.from(given)).written)).toBe(given);
    }),
    { numRuns: tries(2000, 500) },
  );
});
