import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedJsonError, parseJsonText } from '../../../src/api/http/json-body.ts';
import { tries } from '../../support/depth.ts';

function faultOf(text: string | Buffer) {
  try {
    return { value: parseJsonText(Buffer.from(text)) };
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error;
    const [item] = error.detail;
    return { loc: item?.loc, error: item?.ctx?.error };
  }
}

/** The bar stands before the fault, if V8 reports its position. */
test.each([...['¦', '¦undefined', '¦NaN', "{¦'a':1}", '{"a":"¦\t"}', '{"a":1,¦}', '[1 ¦2]', '{"a":1 ¦"b":2}', '{}¦{}']])(
  'E2: %j is refused at the position that V8 reports, or at 0',
  (marked) => {
    expect(faultOf(marked.replace('¦', ''))).toEqual({ loc: ['body', marked.indexOf('¦')], error: expect.any(String) });
  },
);

test.each([
  ['in a text', '7b22c3a9ff227d'],
  ['a surrogate', '22eda08022'],
  ['UTF-16', 'fffe7b00'],
])('E2: octets that are not UTF-8: %s', (_name, octets) => {
  expect(faultOf(Buffer.from(octets, 'hex'))).toEqual({ loc: ['body', 0], error: 'Invalid UTF-8' });
});

test('E2: one byte order mark is skipped', () => {
  expect(faultOf('\ufeff{"a":1}')).toEqual({ value: { a: 1 } });
});

test('E2: a metadata value may nest to 64 levels, not counting the body and the metadata object', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}"]["${']'.repeat(levels)}`;
  expect(faultOf(`{"metadata":{"a":${nested(64)}}}`)).toHaveProperty('value');
  expect(faultOf(nested(67))).toEqual({ loc: ['body', 0], error: 'Nested deeper than 66 levels' });
});

test('E2: a fault after megabytes of brackets is found without a deep stack', () => {
  expect(faultOf('['.repeat(2_000_000))).toMatchObject({ error: expect.any(String) });
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
  const { briefing_metadata: metadata } = parseJsonText(Buffer.from(text)) as { briefing_metadata: object };
  expect(JSON.stringify(metadata)).toBe(kept);
});
