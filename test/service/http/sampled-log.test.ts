import { expect, test } from 'vitest';
import { createSampledLog } from '../../../src/api/http/request-log.ts';

test('at most 20 lines a second of one kind are written, and the next line counts the rest', () => {
  let now = 0;
  const sampled = createSampledLog(() => now);
  const written: object[] = [];
  const log = (kind: number) => sampled(kind, (left) => written.push({ kind, ...left }));
  for (let count = 0; count < 50; count += 1) log(503);
  log(429);
  expect(written).toEqual([...Array(20).fill({ kind: 503 }), { kind: 429 }]);
  now = 1_000;
  log(503);
  log(503);
  expect(written.slice(21)).toEqual([{ kind: 503, unlogged: 30 }, { kind: 503 }]);
});
