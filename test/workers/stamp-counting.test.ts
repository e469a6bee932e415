import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import type { Tallied } from '../../src/shared/store/counters.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import { createStampWriter } from '../../src/workers/stamping/stamp-writer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const now = new Date().toISOString();
const tally = {
  finishedAt: Date.parse(now),
  provider: 'test',
  isQualified: false,
  callerKind: 'agent',
  product: undefined,
  outcome: 'stamped',
  latencyMs: 1,
} as const;

const stampOf = (tokenId: string): StoredStamp => ({
  tokenId,
  imprint: sha256Imprint('ab'.repeat(32)),
  proofs: [{ kind: 'mock', token: 'token', issuedAt: now, provider: 'test', isQualified: false }],
  tier: 'basic',
  caller: { kind: 'agent' },
  acceptedAt: new Date(now),
  requestId: 'test',
});

/** A writer of a store that holds some stamps, and each of its writes to the counters: how many stamps of how many jobs. */
function startWriter({ held = [] as readonly string[], concurrency = 256, inserting = async () => {} } = {}) {
  const ids = new Set(held);
  const writes: number[][] = [];
  const writer = createStampWriter({
    stamps: {
      insertOnce: async (given) => {
        await inserting();
        const added = given.filter(({ tokenId }) => !ids.has(tokenId));
        for (const { tokenId } of added) ids.add(tokenId);
        return { stored: [...given], added };
      },
    },
    directory: { wrote: async () => undefined },
    counters: {
      add: async (counted: readonly Tallied[]) => void writes.push(counted.map(({ tallies }) => tallies.length)),
      settle: async () => undefined,
    },
    concurrency,
    log: pino({ level: 'silent' }),
  });
  let jobs = 0;
  const write = (...tokenIds: string[]) => {
    jobs += 1;
    const made = tokenIds.map((tokenId) => ({ stamp: stampOf(tokenId), tally }));
    return writer.write({ mark: `a${jobs}`, stoodStillMs: writer.stoodStillMs(), made });
  };
  return { write, writes };
}

test('S12: after a pause a job is counted at once, and those that end within a moment after it together', async () => {
  const { write, writes } = startWriter();
  const first = await write(randomUUID());
  await first.counted;
  expect(writes).toEqual([[1]]);
  const later = [await write(randomUUID(), randomUUID()), await write(randomUUID())];
  await vi.advanceTimersByTimeAsync(40);
  expect(writes).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(20);
  await Promise.all(later.map(({ counted }) => counted));
  expect(writes).toEqual([[1], [2, 1]]);
});

test('S12: a worker that does one job at a time is not kept from the next one', async () => {
  const { write, writes } = startWriter({ concurrency: 1 });
  for (let job = 1; job <= 3; job += 1) {
    const { counted } = await write(randomUUID());
    await vi.advanceTimersByTimeAsync(1);
    await counted;
    expect(writes).toHaveLength(job);
  }
});

test('S12: what is stored already was counted by whoever stored it', async () => {
  const [held, both] = [randomUUID(), randomUUID()];
  const { write, writes } = startWriter({ held: [held] });
  const written = await Promise.all([write(held), write(held, both), write(both)]);
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all(written.map(({ counted }) => counted));
  expect(writes.flat().reduce((sum, stamps) => sum + stamps, 0)).toBe(1);
});

/** As if the process got SIGSTOP now and SIGCONT ten seconds later. */
function standStill(): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
  onTestFinished(() => void vi.restoreAllMocks());
}

test('E11: what a worker had not counted when it stood still is counted by whoever does its jobs again', async () => {
  const { write, writes } = startWriter();
  await (await write(randomUUID())).counted;
  const { counted } = await write(randomUUID());
  standStill();
  const outcome = expect(counted).rejects.toThrow('stood still');
  await vi.advanceTimersByTimeAsync(60);
  await outcome;
  expect(writes).toEqual([[1]]);
  const next = await write(randomUUID());
  await vi.advanceTimersByTimeAsync(60);
  await next.counted;
  expect(writes).toEqual([[1], [1]]);
});

test('E11: nor does it count what the store wrote while it stood still', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { write, writes } = startWriter({ inserting: () => promise });
  const writing = write(randomUUID());
  standStill();
  resolve();
  await expect((await writing).counted).rejects.toThrow('stood still');
  expect(writes).toEqual([]);
});
