import { expect, test } from 'vitest';
import { createReceiverTurns, type Turn } from '../../../src/workers/webhooks/receiver-turns.ts';

function createLab() {
  let now = 1_000_000;
  const turns = createReceiverTurns({ clock: () => now, random: () => 1 });
  const begin = (receiver: string): Turn => {
    const turn = turns.begin(receiver);
    if ('waitMs' in turn) throw new Error(`to wait ${turn.waitMs} ms`);
    return turn;
  };
  const waitOf = (receiver: string): number => {
    const turn = turns.begin(receiver);
    return 'waitMs' in turn ? turn.waitMs : 0;
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { begin, waitOf, pass };
}

test('N5: a receiver has eight turns at a time, and other receivers have their own', () => {
  const { begin, waitOf } = createLab();
  const eight = Array.from({ length: 8 }, () => begin('a:443'));
  expect(waitOf('a:443')).toBeGreaterThan(0);
  begin('a:8443').end(true);
  begin('b:443').end(true);
  eight[0]?.end(true);
  begin('a:443');
});

test('N5: one that failed last has a single turn, until it takes something; what was not sent says nothing', () => {
  const { begin, waitOf } = createLab();
  begin('a').end(false);
  const probe = begin('a');
  expect(waitOf('a')).toBeGreaterThan(0);
  probe.end(undefined);
  const second = begin('a');
  expect(waitOf('a')).toBeGreaterThan(0);
  second.end(true);
  for (let turn = 0; turn < 8; turn += 1) begin('a');
});

test('N5: who waits comes back in his order, later the longer deliveries take, and within half a minute', () => {
  const { begin, waitOf, pass } = createLab();
  for (let turn = 0; turn < 8; turn += 1) begin('hangs');
  pass(4_000);
  const waits = Array.from({ length: 10_000 }, () => waitOf('hangs'));
  expect(waits.slice(0, 3)).toEqual([50, 550, 1_050]);
  expect(waits.toSorted((a, b) => a - b)).toEqual(waits);
  expect(waits.at(-1)).toBe(30_000);
});
