import { setImmediate as restOfTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMicroBatcher } from '../../../src/shared/runtime/micro-batcher.ts';

/** A batcher of numbers. Each item gives its square; the test decides when a batch returns or fails. */
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

test('an item leaves at once if nothing is running; later items leave together, and each gets its own result', async () => {
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

test('a full batch leaves at once, whatever is running; the rest waits', async () => {
  const { add, sent, batches } = startBatcher(2);
  const added = [add(1)];
  await restOfTurn();
  added.push(...[2, 3, 4].map(add));
  await restOfTurn();
  expect(batches()).toEqual([[1], [2, 3]]);
  // The rest must not wait forever: it leaves when all running batches have returned.
  for (let index = 0; index < 3; index += 1) {
    sent[index]!.end();
    await restOfTurn();
  }
  expect(await Promise.all(added)).toEqual([1, 4, 9, 16]);
  expect(batches()).toEqual([[1], [2, 3], [4]]);
});

test('a failed batch does not affect the items that wait behind it', async () => {
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

test('an item that arrives while a batch is gathered joins it', async () => {
  const { add, sent, batches } = startBatcher(64, restOfTurn);
  const added = [add(1)];
  await Promise.resolve();
  added.push(add(2));
  expect(batches()).toEqual([]);
  await expect.poll(batches).toEqual([[1, 2]]);
  sent[0]!.end();
  expect(await Promise.all(added)).toEqual([1, 4]);
});

test('a result may be a promise, which delays neither the next batch nor other items of its own', async () => {
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
