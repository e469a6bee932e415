import { expect, test } from 'vitest';
import { createBodyMemory, type Sender } from '../../../src/api/http/body-memory.ts';

const address = (name: string): Sender => ({ kind: 'address', name });
const product: Sender = { kind: 'product', name: 'acme' };
const options = { largestBytes: 10, spareBytes: 20, ownSpareBytes: 8 };

test('one sender takes the largest body and its spare, its kind no more than the same of all, and the other kind is untouched', () => {
  const memory = createBodyMemory(options);
  const takenBy = (sender: Sender) => Array.from({ length: 20 }, () => memory.open(sender)).filter((lease) => lease.take(2)).length * 2;
  const eldest = memory.open(address('a'));
  expect(eldest.take(10)).toBe(true);
  expect(takenBy(address('a'))).toBe(8);
  expect(takenBy(address('b')) + takenBy(address('c')) + takenBy(address('d'))).toBe(12);
  expect(memory.usedBytes).toBe(10 + 20);
  expect(memory.open(product).take(10)).toBe(true);
});

test('bodies that each hold a part and wait for the rest are finished one after the other, the eldest first', async () => {
  const memory = createBodyMemory(options);
  const leases = Array.from({ length: 6 }, (_, index) => memory.open(address(`${index}`)));
  expect(leases.map((lease) => lease.take(5))).toEqual([true, true, true, true, true, false]);
  const finished: number[] = [];
  const finish = async (index: number) => {
    await leases[index]?.takeLater(index === 5 ? 10 : 5);
    finished.push(index);
    leases[index]?.complete();
    leases[index]?.release();
  };
  await Promise.all([5, 4, 3, 2, 1, 0].map(finish));
  expect(finished[0]).toBe(0);
  expect(finished.toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(memory.usedBytes).toBe(0);
});

test('a body that was read holds its bytes until it is answered, and is the eldest no more', () => {
  const memory = createBodyMemory(options);
  const [first, second] = [memory.open(address('a')), memory.open(address('a'))];
  expect([first.take(10), second.take(9)]).toEqual([true, false]);
  first.complete();
  expect([second.take(8), memory.usedBytes]).toEqual([true, 18]);
  first.release();
  first.release();
  expect(memory.usedBytes).toBe(8);
});

test('E10: more than 32 of one sender do not wait', async () => {
  const memory = createBodyMemory(options);
  memory.open(address('a')).take(10);
  memory.open(address('a')).take(8);
  const waiting = Array.from({ length: 33 }, () => memory.open(address('a')));
  const waits = waiting.map((lease) => lease.takeLater(1));
  await expect(waits[32]).rejects.toMatchObject({ code: 'overloaded' });
  for (const [index, lease] of waiting.entries()) {
    lease.release();
    if (index < 32) await expect(waits[index]).rejects.toMatchObject({ code: 'bad_request' });
  }
});

test('small bodies have a reserve that large ones never take, and of it no sender takes all', () => {
  const kibibyte = 1024;
  const memory = createBodyMemory({ largestBytes: 1000 * kibibyte, spareBytes: 0, ownSpareBytes: 0 });
  const fill = (sender: Sender) => Array.from({ length: 10 }, () => memory.open(sender, 64 * kibibyte).take(64 * kibibyte));
  const granted = (takes: boolean[]) => takes.filter((isTaken) => isTaken).length;
  expect(memory.open(address('a')).take(1000 * kibibyte)).toBe(true);
  expect(memory.open(address('b'), 65 * kibibyte).take(1)).toBe(false);
  expect(granted(fill(address('b')))).toBeLessThan(10);
  expect(memory.open(address('b'), 64 * kibibyte).take(64 * kibibyte)).toBe(false);
  expect(granted(fill(address('c')))).toBeGreaterThan(0);
});

test('a small body gives back what it took of the reserve', () => {
  const memory = createBodyMemory({ largestBytes: 100, spareBytes: 0, ownSpareBytes: 0 });
  memory.open(address('a')).take(100);
  const small = memory.open(address('b'), 64);
  expect([small.take(64), memory.usedBytes]).toEqual([true, 164]);
  small.complete();
  small.release();
  expect([memory.usedBytes, small.take(1)]).toEqual([100, false]);
});
