import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REASONS } from '../../src/shared/domain/reasons.ts';
import { settingsSchema } from '../../src/shared/runtime/config.ts';
import { reasonsTable } from '../support/reasons-table.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** `| \`NAME\` | default | meaning |` rows of the README, by name. */
const settingRows = new Map(
  [...read('README.md').matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (.*?) \| .* \|$/gm)].flatMap(([, names = '', defaults = '']) => {
    const values = defaults.split(', ');
    return [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = ''], index) => [name, values[index] ?? defaults] as const);
  }),
);

test('the README lists every setting and no other', () => {
  expect([...settingRows.keys()].sort()).toEqual(Object.keys(settingsSchema.shape).sort());
});

test.each(Object.entries(settingsSchema.shape))('the README tells the default of %s', (name, schema) => {
  const fallback = schema.safeParse(undefined);
  const told = settingRows.get(name)?.replaceAll('`', '');
  if (fallback.success && ['string', 'number'].includes(typeof fallback.data)) expect(told).toBe(String(fallback.data));
});

test('docs/reasons.md is the table of reasons that the code uses (V3)', () => {
  expect(read('docs/reasons.md').replace(/^[^|]*/, '')).toBe(reasonsTable());
});

test('docs/refusals.md names each reason once, under the number of its refusal (V3)', () => {
  const rows = [...read('docs/refusals.md').matchAll(/^\| (?:(\d+) \| )?[^|]+ \| (`.*`) \|$/gm)];
  const told = rows.flatMap(([, number, codes = '']) =>
    codes.split(', ').map((code) => [code.replaceAll('`', ''), number && Number(number)]),
  );
  expect(told.sort()).toEqual(
    Object.entries(REASONS)
      .map(([code, { refusal }]) => [code, refusal])
      .sort(),
  );
});
