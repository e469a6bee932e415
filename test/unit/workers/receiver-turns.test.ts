import { expect, test } from 'vitest';
import type { Woken } from '../../../src/shared/queue/job-sender.ts';
import { createReceiverTurns, type Turn } from '../../../src/workers/webhooks/receiver-turns.ts';

/** `others`: what is said of jobs that do not wait when they are called. */
function createLab(others: Readonly<Record<string, Woken>> = {}) {
  let now = 1_000_000;
  let jobs = 0;
  const woken: string[] = [];
  const wake = async (jobId: string): Promise<Woken> => {
    const { [jobId]: said = 'woken' } = others;
    if (said === 'woken') woken.push(jobId);
    return said;
  };
  const turns = createReceiverTurns({ clock: () => now, wake, random: () => 1 });
  const ask = (receiver: string, jobId = `job-${++jobs}`) => turns.begin(receiver, jobId);
  const begin = (receiver: string): Turn => {
    const turn = ask(receiver);
    if ('waitMs' in turn) throw new Error(`to wait ${turn.waitMs} ms`);
    return turn;
  };
  const waitOf = (receiver: string, jobId?: string): number => {
    const turn = ask(receiver, jobId);
    return 'waitMs' in turn ? turn.waitMs : 0;
  };
  const pass = (ms: number) => {
    now += ms;
  };
  /** Those that were called by now. */
  const called = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return woken.splice(0);
  };
  return { begin, waitOf, pass, called };
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

test('N5: who waits is called in his order when a turn ends; who is not there any more is passed over', async () => {
  const { begin, waitOf, called } = createLab({ second: 'unknown' });
  const turns = Array.from({ length: 8 }, () => begin('a'));
  for (const jobId of ['first', 'second', 'third', 'fourth', 'fifth']) waitOf('a', jobId);
  turns[0]?.end(true);
  expect(await called()).toEqual(['first']);
  begin('a');
  turns[1]?.end(true);
  expect(await called()).toEqual(['third']);
  turns[2]?.end(true);
  expect(await called()).toEqual(['fourth', 'fifth']);
});

test('N5: who is not called asks again, the later the longer deliveries take, and within half a minute', () => {
  const { begin, waitOf, pass } = createLab();
  const turns = Array.from({ length: 8 }, () => begin('hangs'));
  expect(waitOf('hangs')).toBe(500);
  pass(4_000);
  expect(waitOf('hangs')).toBe(8_000);
  pass(60_000);
  expect(waitOf('hangs')).toBe(30_000);
  for (const turn of turns) turn.end(false);
  begin('hangs');
  expect(waitOf('hangs')).toBe(30_000);
});

test('N5: many that wait ask again seldom: 40 times a second all together', () => {
  const { begin, waitOf } = createLab();
  for (let turn = 0; turn < 8; turn += 1) begin('a');
  const waits = Array.from({ length: 1_000 }, () => waitOf('a'));
  expect([waits.at(0), waits.at(99), waits.at(-1)]).toEqual([500, 2_500, 25_000]);
});

test('N5: one that is only about to wait is called at the next turn', async () => {
  const others: Record<string, Woken> = { first: 'not_asleep' };
  const { begin, waitOf, called } = createLab(others);
  const turns = Array.from({ length: 8 }, () => begin('a'));
  waitOf('a', 'first');
  turns[0]?.end(true);
  expect(await called()).toEqual([]);
  others.first = 'woken';
  turns[1]?.end(true);
  expect(await called()).toEqual(['first']);
});
