import { expect, test } from 'vitest';
import type { z } from 'zod';
import { validationItems } from '../../../src/api/server/validation-items.ts';
import { anyUuid, queryInteger } from '../../../src/shared/contract/parameters.ts';

const uuid = '12345678-1234-1234-1234-1234567890ab';
const days = queryInteger({ low: 1, high: 90, fallback: 7 });

function faultOf(schema: z.ZodType, text: string) {
  const result = schema.safeParse(text);
  return result.success ? undefined : validationItems(result.error, text, ['query'])[0];
}

test.each([uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), uuid.replaceAll('-', '').toUpperCase()])('E1: %s is a UUID', (text) => {
  expect(anyUuid.parse(text)).toBe(uuid);
});

test.each([
  [`{${uuid}}`, 'invalid character: found `{` at 1'],
  [`1${uuid}`, 'invalid group length in group 0: expected 8, found 9'],
  [uuid.replace('-', ''), 'expected 32 hexadecimal digits, or five groups of them with hyphens between'],
  ['', 'expected 32 hexadecimal digits, or five groups of them with hyphens between'],
])('E1: %j is not a UUID: %s', (text, error) => {
  expect(faultOf(anyUuid, text)).toMatchObject({ type: 'uuid_parsing', msg: `Input should be a valid UUID, ${error}`, ctx: { error } });
});

test.each([
  ['1', 1],
  ['90', 90],
  ['05', 5],
  ['+5', 5],
  [' 7 ', 7],
  ['1.0', 1],
  [undefined, 7],
])('E1: the integer %j is %i (S12)', (text, value) => {
  expect(days.parse(text)).toBe(value);
});

test.each([
  ['-3', 'greater_than_equal'],
  ['9'.repeat(4301), 'less_than_equal'],
  [' ', 'int_parsing'],
  ['1.5', 'int_parsing'],
  ['0x10', 'int_parsing'],
  ['1e1', 'int_parsing'],
  ['７', 'int_parsing'],
])('E1: the integer %j is %s', (text, type) => {
  expect(faultOf(days, text)?.type).toBe(type);
});
