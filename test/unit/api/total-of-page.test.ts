import { expect, test } from 'vitest';
import { totalOfPage } from '../../../src/api/services/statistics.ts';

const page = (offset: number, shown: number, hasMore: boolean) => ({ offset, shown, hasMore });

test.each([
  ['the last page, a stamp of it not counted yet', page(0, 3, false), 2, 3],
  ['the last page, a stamp counted that is not stored yet', page(0, 3, false), 4, 3],
  ['the last page of several', page(100, 7, false), 90, 107],
  ['a page in the middle', page(50, 50, true), 1_000, 1_000],
  ['a page in the middle, the counter behind what is there', page(50, 50, true), 70, 101],
  ['nothing at all, a stamp counted that is not stored yet', page(0, 0, false), 1, 0],
  ['a page beyond the end', page(500, 0, false), 107, 107],
  ['a page beyond the end, the counter ahead', page(500, 0, false), 501, 500],
])('S12: a total never contradicts its page: %s', (_, shown, counted, total) => {
  expect(totalOfPage(shown, counted)).toBe(total);
});
