import { expect, test } from 'vitest';
import type { z } from 'zod';
import { anyUuid, queryInteger } from '../../../src/shared/contract/parameters.ts';

const uuid = '12345678-1234-1234-1234-1234567890ab';
const days = queryInteger({ low: 1, high: 90, fallback: 7 });

test.each([uuid, uuid.toUpperCase(), uuid.replaceAll('-', '').toUpperCase()])('E1: %s is a UUID', (text) => {
  expect(anyUuid.parse(text)).toBe(uuid);
});
const noInteger = 'a valid integer, unable to parse string as an integer';
const noUuid = 'expected 32 hexadecimal digits, or five groups of them with hyphens between';
test.each<[string, string, z.ZodType]>([
  [`{${uuid}}`, 'a valid UUID, invalid character: found `{` at 1', anyUuid],
  [`1${uuid}`, 'a valid UUID, invalid group length in group 0: expected 8, found 9', anyUuid],
  [uuid.replace('-', ''), `a valid UUID, ${noUuid}`, anyUuid],
  ['', `a valid UUID, ${noUuid}`, anyUuid],
  ['-3', 'greater than or equal to 1', days],
  ['9'.repeat(4301), 'less than or equal to 90', days],
  ...[' ', '1.5', '0x10', '1e1', '７'].map((text): [string, string, z.ZodType] => [text, noInteger, days]),
])('E1: a parameter that should be something else, case %#', (text, said, schema) => {
  expect(schema.safeParse(text).error?.issues.map(({ message }) => message)).toEqual([`Input should be ${said}`]);
});

test('E1, S12: an integer may have a sign, zeros and white space, and is the fallback if it is absent', () => {
  expect(['1', '90', '05', '+5', ' 7 ', '1.0', undefined].map((text) => days.parse(text))).toEqual([1, 90, 5, 5, 7, 1, 7]);
});
