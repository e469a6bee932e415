import { expect, test } from 'vitest';
import { joinReads } from '../../../src/shared/store/joined-reads.ts';

/** A store whose queries are answered when the test says so. */
function storeOf(...present: string[]) {
  const asked: (readonly string[])[] = [];
  const answers: { resolve: () => void; reject: (reason: unknown) => void }[] = [];
  const read = joinReads(
    (ids) => {
      asked.push(ids);
      const { promise, resolve, reject } = Promise.withResolvers<{ id: string }[]>();
      // In another order than asked for: who waits gets what he asked for.
      const found = present.filter((id) => ids.includes(id)).toReversed();
      answers.push({ resolve: () => resolve(found.map((id) => ({ id }))), reject });
      return promise;
    },
    ({ id }) => id,
  );
  return { read, asked, answers };
}

test('a read goes at once, and those that come meanwhile go together, each answered with its own', async () => {
  const { read, asked, answers } = storeOf('a', 'b', 'c');
  const first = read('a');
  const others = [read('b'), read('c'), read('b'), read('absent')];
  expect(asked).toEqual([['a']]);
  answers[0]?.resolve();
  expect(await first).toEqual({ id: 'a' });
  await expect.poll(() => asked.length).toBe(2);
  expect(asked[1]).toEqual(['b', 'c', 'absent']);
  answers[1]?.resolve();
  expect(await Promise.all(others)).toEqual([{ id: 'b' }, { id: 'c' }, { id: 'b' }, null]);
});

test('a query that fails is told to all who wait, and the next read asks anew', async () => {
  const { read, asked, answers } = storeOf('a', 'b');
  const waiting = [read('a'), read('b')];
  answers[0]?.reject(new Error('away'));
  const outcomes = await Promise.allSettled(waiting);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const again = read('a');
  expect(asked).toHaveLength(2);
  answers[1]?.resolve();
  expect(await again).toEqual({ id: 'a' });
});
