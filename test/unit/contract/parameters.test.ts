import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { validationItems } from '../../../src/api/http/validation-items.ts';
import { anyUuid, queryInteger } from '../../../src/shared/contract/parameters.ts';

/** Texts, what pydantic 2.13 made of each, and its message or type of error. */
type Row = readonly [text: string, value: string | null, fault: string | null];
const rows: { readonly uuids: readonly Row[]; readonly integers: readonly Row[] } = JSON.parse(
  readFileSync(new URL('../../fixtures/pydantic-parameters.json', import.meta.url), 'utf8'),
);

function read(schema: z.ZodType, text: string) {
  const result = schema.safeParse(text);
  return result.success ? { value: result.data } : { item: validationItems(result.error, text, ['query'])[0] };
}

test.each(rows.uuids)('E1: the UUID %j is read as pydantic reads it', (text, value, fault) => {
  const { value: read_, item } = read(anyUuid, text);
  expect({ value: read_ ?? null, fault: item?.msg ?? null }).toEqual({ value, fault });
  if (item) expect(item).toMatchObject({ type: 'uuid_parsing', ctx: { error: fault?.replace('Input should be a valid UUID, ', '') } });
});

const unbounded = queryInteger({ low: -1e300, high: 1e300, fallback: 0 });

test.each(rows.integers)('E1: the integer %j is read as pydantic reads it', (text, value, fault) => {
  const { value: read_, item } = read(unbounded, text);
  expect({ value: read_ ?? null, fault: item?.type ?? null }).toEqual({ value: value === null ? null : Number(value), fault });
});

test.each([
  ['9'.repeat(4300), 'less_than_equal'],
  ['9'.repeat(4301), 'int_parsing_size'],
  [`${'0'.repeat(5000)}7`, undefined],
  ['1'.repeat(4301).concat('x'), 'int_parsing'],
  ['７', 'int_parsing'],
  ['\u{2003}7\u{a0}', undefined],
])('E1: digits without end, other digits and other blanks (%#)', (text, type) => {
  expect(read(queryInteger({ low: 1, high: 90, fallback: 7 }), text).item?.type).toBe(type);
});

test('an absent integer has its default, a bound belongs to its range (S12)', () => {
  const days = queryInteger({ low: 1, high: 90, fallback: 7 });
  expect([undefined, '1', '90'].map((given) => days.parse(given))).toEqual([7, 1, 90]);
});
