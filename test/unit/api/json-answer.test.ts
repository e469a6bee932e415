import { expect, test } from 'vitest';
import { jsonArrayOf, jsonTextsOf } from '../../../src/api/http/json-answer.ts';

const long = Buffer.alloc(3_000, 7).toString('base64');
const made = (token: unknown) => ({ token_id: 'é "token":""', token, tier: 'basic', sealed_storage_url: null });

test.each([
  ['long', long],
  ['short', 'AA=='],
  ['with a quote', `${long}"`],
  ['with a backslash', `${long}\\`],
  ['no text', 7],
  ['absent', undefined],
])('L1: an answer whose token is %s is the JSON that JSON.stringify makes', (_, token) => {
  expect(jsonTextsOf(made(token)).join('')).toBe(JSON.stringify(made(token)));
});

test('L1: items of all kinds stand in their order in one array', () => {
  const items = [made(long), { code: 'provider_failed', detail: 'ü' }, made('AA=='), made(long), made(long)];
  for (const given of [items, items.slice(1, 2), items.slice(0, 1), items.toReversed(), []]) {
    for (const pieceBytes of [1, 4_500, 100_000]) {
      const pieces = jsonArrayOf(given.map(jsonTextsOf), pieceBytes);
      expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify(given));
      if (pieceBytes === 100_000) expect(pieces).toHaveLength(1);
    }
  }
});
