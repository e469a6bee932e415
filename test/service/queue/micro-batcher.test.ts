import { setImmediate as restOfTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createMicroBatcher } from '../../../src/shared/runtime/micro-batcher.ts';

/** A batcher of numbers. Each item gives its square; the test decides when a batch returns or fails. */
type Options = Partial<Parameters<typeof createMicroBatcher<number, number>>[0]>;

function startBatcher(maxItems: number, options: Options = {}) {
  const sent: { readonly items: readonly number[]; end(): void; fail(error: Error): void }[] = [];
  const { add, remove } = createMicroBatcher<number, number>({
    maxItems,
    ...options,
    send: (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<number[]>();
      sent.push({ items, end: () => resolve(items.map((item) => item ** 2)), fail: reject });
      return promise;
    },
  });
  return { add, remove, sent, batches: () => sent.map(({ items }) => items) };
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

test('if a batch returns too few results, all its items fail', async () => {
  const { add } = createMicroBatcher<number, number>({ maxItems: 64, gather: restOfTurn, send: async ([first]) => [first!] });
  const fault = { status: 'rejected', reason: { message: 'send returns a result for each item' } };
  expect(await Promise.allSettled([add(1), add(2)])).toMatchObject([fault, fault]);
});

test('an item that arrives while a batch is gathered joins it', async () => {
  const { add, sent, batches } = startBatcher(64, { gather: restOfTurn });
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

test('items that arrive while a batch is away wait no longer than allowed, and no more batches are away than allowed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { add, sent, batches } = startBatcher(100, { maxUnderWay: 2, windowMs: 0, patienceMs: 20 });
  const added = [add(1)];
  await vi.advanceTimersByTimeAsync(5);
  added.push(add(2), add(3));
  await vi.advanceTimersByTimeAsync(60);
  added.push(add(4));
  await vi.advanceTimersByTimeAsync(60);
  expect(batches()).toEqual([[1], [2, 3]]);
  sent[1]!.end();
  await vi.advanceTimersByTimeAsync(60);
  expect(batches()).toEqual([[1], [2, 3], [4]]);
  for (const { end } of sent) end();
  expect(await Promise.all(added)).toEqual([1, 4, 9, 16]);
});

test('items that go last wait behind the others; a removed item is in no batch', async () => {
  const { add, remove, sent, batches } = startBatcher(3, { maxUnderWay: 1, goesLast: (item) => item > 100 });
  const added = [add(1)];
  await expect.poll(batches).toEqual([[1]]);
  added.push(...[101, 2, 103, 3].map(add));
  void add(102);
  expect([remove(102), remove(200)]).toEqual([true, false]);
  sent[0]!.end();
  await expect.poll(batches).toEqual([[1], [2, 3, 101]]);
  sent[1]!.end();
  await expect.poll(batches).toEqual([[1], [2, 3, 101], [103]]);
  sent[2]!.end();
  await Promise.all(added);
});
