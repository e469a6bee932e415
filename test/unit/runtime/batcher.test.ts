import { setImmediate as restOfTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createBatcher } from '../../../src/shared/runtime/batcher.ts';

/** A batcher whose flushes end when they are told to. */
function controlledBatcher(maxItems: number, gathersTurn: boolean) {
  const flushes: { readonly items: number[]; end(): void; fail(error: Error): void }[] = [];
  const batcher = createBatcher<number>({
    maxSize: maxItems,
    ...(gathersTurn && { gather: () => restOfTurn() }),
    flush: (items) => new Promise<void>((end, fail) => flushes.push({ items, end, fail })),
  });
  return { batcher, flushes };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('the first goes at once, and what the same turn brings besides goes next', async () => {
  const { batcher, flushes } = controlledBatcher(64, false);
  const added = [batcher.add(1), batcher.add(2), batcher.add(3)];
  expect(flushes.map(({ items }) => items)).toEqual([[1]]);
  flushes[0]?.end();
  await nextTurn();
  expect(flushes.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  flushes[1]?.end();
  await Promise.all(added);
});

test('gathering: what arrives in one turn of the event loop travels together, and one item alone goes in its own turn', async () => {
  const { batcher, flushes } = controlledBatcher(64, true);
  const first = batcher.add(1);
  await Promise.resolve();
  const second = batcher.add(2);
  await nextTurn();
  expect(flushes.map(({ items }) => items)).toEqual([[1, 2]]);
  flushes[0]?.end();
  await Promise.all([first, second]);

  const alone = batcher.add(3);
  await nextTurn();
  expect(flushes[1]?.items).toEqual([3]);
  flushes[1]?.end();
  await alone;
});

describe.each([true, false])('gathering the turn: %s', (gathersTurn) => {
  test('what arrives during a flush waits for its end, and goes in batches of at most the limit', async () => {
    const { batcher, flushes } = controlledBatcher(2, gathersTurn);
    const added = [batcher.add(1)];
    await nextTurn();
    added.push(batcher.add(2), batcher.add(3), batcher.add(4));
    await nextTurn();
    expect(flushes).toHaveLength(1);
    for (let flushed = 0; flushed < 3; flushed += 1) {
      flushes[flushed]?.end();
      await nextTurn();
      await nextTurn();
    }
    await Promise.all(added);
    expect(flushes.map(({ items }) => items)).toEqual([[1], [2, 3], [4]]);
  });

  test('a flush that fails fails all that wait behind it, and the next item starts anew', async () => {
    const { batcher, flushes } = controlledBatcher(64, gathersTurn);
    const added = [batcher.add(1)];
    await nextTurn();
    added.push(batcher.add(2));
    const outcomes = Promise.allSettled(added);
    const reason = new Error('no queue');
    flushes[0]?.fail(reason);
    expect(await outcomes).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);

    const later = batcher.add(3);
    await nextTurn();
    flushes[1]?.end();
    await later;
    expect(flushes[1]?.items).toEqual([3]);
  });
});

test('a batch may be allowed another size by what it gathers for', async () => {
  const flushes: number[][] = [];
  const batcher = createBatcher<number>({
    maxSize: 2,
    gather: async (first) => (first === 3 ? 4 : undefined),
    flush: async (items) => void flushes.push(items),
  });
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map((item) => batcher.add(item)));
  expect(flushes).toEqual([[1, 2], [3, 4, 5, 6], [7, 8], [9]]);
});

test('items with sizes: a batch ends before the one that would exceed the limit, and a larger one goes alone', async () => {
  const flushes: number[][] = [];
  const batcher = createBatcher<number>({
    maxSize: 10,
    sizeOf: (item) => item,
    flush: async (items) => {
      flushes.push(items);
      await nextTurn();
    },
  });
  await Promise.all([1, 4, 6, 0, 5, 25, 0, 10, 1].map((item) => batcher.add(item)));
  expect(flushes).toEqual([[1], [4, 6, 0], [5], [25], [0, 10], [1]]);
});
