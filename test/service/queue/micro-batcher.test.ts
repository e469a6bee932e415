import { setImmediate as restOfTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMicroBatcher } from '../../../src/shared/runtime/micro-batcher.ts';

/** A batcher of numbers whose batches return, or fail, when they are told to; the result of an item is its square. */
function startBatcher(maxItems: number, gather?: () => Promise<unknown>) {
  const sent: { readonly items: readonly number[]; end(): void; fail(error: Error): void }[] = [];
  const { add } = createMicroBatcher<number, number>({
    maxItems,
    ...(gather && { gather }),
    send: (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<number[]>();
      sent.push({ items, end: () => resolve(items.map((item) => item ** 2)), fail: reject });
      return promise;
    },
  });
  return { add, sent, batches: () => sent.map(({ items }) => items) };
}

test('one that finds nothing under way leaves at once, those that come meanwhile leave together, and each gets its own result', async () => {
  const { add, sent, batches } = startBatcher(64);
  const first = add(1);
  await restOfTurn();
  const others = [add(2), add(3)];
  await restOfTurn();
  expect(batches()).toEqual([[1]]);
  sent[0]!.end();
  expect(await first).toBe(1);
  await restOfTurn();
  expect(batches()).toEqual([[1], [2, 3]]);
  sent[1]!.end();
  expect(await Promise.all(others)).toEqual([4, 9]);
});

test('those that fill a batch leave at once, whatever is under way; the rest waits', async () => {
  const { add, sent, batches } = startBatcher(2);
  const added = [add(1)];
  await restOfTurn();
  added.push(...[2, 3, 4].map(add));
  await restOfTurn();
  expect(batches()).toEqual([[1], [2, 3]]);
  // Nothing of what is left may wait for ever: it leaves when all that was under way has returned.
  for (let index = 0; index < 3; index += 1) {
    sent[index]!.end();
    await restOfTurn();
  }
  expect(await Promise.all(added)).toEqual([1, 4, 9, 16]);
  expect(batches()).toEqual([[1], [2, 3], [4]]);
});

test('a batch that fails leaves those that wait behind it alone', async () => {
  const { add, sent } = startBatcher(64);
  const first = add(1);
  await restOfTurn();
  const next = add(2);
  sent[0]!.fail(new Error('no queue'));
  await expect(first).rejects.toThrow('no queue');
  await restOfTurn();
  sent[1]!.end();
  expect(await next).toBe(4);
});

test('what arrives while a batch is gathered travels in it', async () => {
  const { add, sent, batches } = startBatcher(64, restOfTurn);
  const added = [add(1)];
  await Promise.resolve();
  added.push(add(2));
  expect(batches()).toEqual([]);
  await expect.poll(batches).toEqual([[1, 2]]);
  sent[0]!.end();
  expect(await Promise.all(added)).toEqual([1, 4]);
});

test('a result may be a promise, which keeps neither the next batch nor the others of its own waiting', async () => {
  const late = Promise.withResolvers<string>();
  const { add } = createMicroBatcher<string, string>({
    maxItems: 64,
    send: async (items) => items.map((item) => (item === 'late' ? late.promise : item)),
  });
  const waiting = add('late');
  expect(await Promise.all([add('a'), add('b')])).toEqual(['a', 'b']);
  late.resolve('it came');
  expect(await waiting).toBe('it came');
});
