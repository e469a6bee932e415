import { expect, onTestFinished, test } from 'vitest';
import { createByteBudget, type Holder } from '../../../src/api/http/byte-budget.ts';
import { eventually } from '../../support/eventually.ts';

const holder = (name: string, more: Partial<Holder> = {}): Holder => ({
  kind: 'address',
  name,
  idleMs: () => 0,
  cut: () => undefined,
  ...more,
});

/** Notes the names of what is granted, in its order. */
function grantedOf(reservations: Readonly<Record<string, { readonly granted: Promise<void> }>>): string[] {
  const order: string[] = [];
  for (const [name, { granted }] of Object.entries(reservations)) void granted.then(() => order.push(name));
  return order;
}
const settled = () => new Promise(setImmediate);

test('the budget admits in the order of arrival, and one that is larger than all of it alone', async () => {
  const budget = createByteBudget({ maxBytes: 10 });
  const first = budget.reserve(6, holder('a'));
  const huge = budget.reserve(1000, holder('b', { kind: 'product' }));
  const tiny = budget.reserve(1, holder('c'));
  const order = grantedOf({ first, huge, tiny });
  await settled();
  expect([order, budget.freeBytes]).toEqual([['first'], 4]);
  first.release();
  first.release();
  await huge.granted;
  expect([order, budget.freeBytes]).toEqual([['first', 'huge'], 0]);
  huge.release();
  await tiny.granted;
  tiny.release();
  expect(budget.freeBytes).toBe(10);
});

test('one holder gets half of it, and all without a service token three quarters, while others go on', async () => {
  const budget = createByteBudget({ maxBytes: 100 });
  const made = {
    a1: budget.reserve(30, holder('a')),
    a2: budget.reserve(30, holder('a')),
    b: budget.reserve(30, holder('b')),
    c: budget.reserve(30, holder('c')),
    product: budget.reserve(25, holder('p', { kind: 'product' })),
  };
  const order = grantedOf(made);
  await settled();
  expect(order).toEqual(['a1', 'b', 'product']);
  made.a1.release();
  await settled();
  expect(order).toEqual(['a1', 'b', 'product', 'a2']);
  made.b.release();
  await settled();
  expect(order).toEqual(['a1', 'b', 'product', 'a2', 'c']);
});

test('whoever makes no use of its bytes is cut off when another waits for them, and nobody else', async () => {
  const budget = createByteBudget({ maxBytes: 100 });
  const cut: string[] = [];
  const readerOf = (name: string, idleMs: number) => {
    const reservation = budget.reserve(
      25,
      holder(name, {
        idleMs: () => idleMs,
        cut: () => {
          cut.push(name);
          reservation.release();
        },
      }),
    );
    return reservation;
  };
  for (const [name, idleMs] of [
    ['busy', 200],
    ['slow', 2_000],
    ['slowest', 9_000],
  ] as const)
    await readerOf(name, idleMs).granted;
  await budget.reserve(25, holder('next')).granted;
  expect(cut).toEqual(['slowest']);
  const last = budget.reserve(50, holder('last'));
  await eventually(async () => cut.length === 2);
  expect(cut).toEqual(['slowest', 'slow']);
  last.release();
  await expect(last.granted).rejects.toMatchObject({ code: 'bad_request' });
});

test('whoever makes no use of its bytes is cut off also while requests keep coming', async () => {
  const budget = createByteBudget({ maxBytes: 100, waitMs: 5_000 });
  const idle = budget.reserve(50, holder('idle', { idleMs: () => 9_000, cut: () => idle.release() }));
  const busy = budget.reserve(50, holder('busy', { kind: 'product' }));
  await Promise.all([idle.granted, busy.granted]);
  const coming = setInterval(() => {
    const { granted, release } = budget.reserve(1, holder('coming'));
    granted.catch(() => undefined);
    release();
  }, 20);
  onTestFinished(() => clearInterval(coming));
  await budget.reserve(50, holder('next')).granted;
});
