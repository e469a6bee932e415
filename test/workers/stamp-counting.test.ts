import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import type { StampTally } from '../../src/shared/store/counters.ts';
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

interface WriterOptions {
  readonly held?: readonly string[];
  readonly concurrency?: number;
  /** What each look at the lock says; the last one holds on. */
  readonly looks?: readonly (boolean | Error)[];
  /** How often taking back fails before it succeeds. */
  readonly failures?: number;
  readonly written?: () => Promise<void>;
}

/** A writer of a store that holds some stamps, and each of its writes to the counters: how many stamps of how many jobs; and what it takes back. */
function startWriter({ held = [], concurrency = 256, looks = [true], failures = 0, written = async () => {} }: WriterOptions = {}) {
  const ids = new Set(held);
  const writes: number[][] = [];
  const settled: number[] = [];
  const takenBack: string[] = [];
  let toFail = failures;
  const takeBack = async (mark: string) => {
    toFail -= 1;
    if (toFail >= 0) throw new Error('the store is away');
    takenBack.push(mark);
  };
  const writer = createStampWriter({
    stamps: {
      insertOnce: async (given) => {
        const added = given.filter(({ tokenId }) => !ids.has(tokenId));
        for (const { tokenId } of added) ids.add(tokenId);
        return { stored: [...given], added };
      },
    },
    directory: { wrote: async () => undefined },
    counters: {
      add: (counted) => {
        writes.push(counted.map(({ tallies }) => tallies.length));
        return { written: written(), takeBack };
      },
      settle: async ({ tallies }) => {
        settled.push(tallies.length);
        return { written: written(), takeBack };
      },
    },
    concurrency,
    log: pino({ level: 'silent' }),
  });
  let jobs = 0;
  const begin = (tokenIds: readonly string[], recounted?: readonly StampTally[]) => {
    jobs += 1;
    let looked = 0;
    const isOurs = async () => {
      const seen = looks[Math.min(looked, looks.length - 1)];
      looked += 1;
      if (seen instanceof Error) throw seen;
      return seen === true;
    };
    const made = tokenIds.map((tokenId) => ({ stamp: stampOf(tokenId), tally }));
    return writer.write({ mark: `a${jobs}`, run: recounted ? 2 : 1, isOurs, made, recounted });
  };
  const write = (...tokenIds: string[]) => begin(tokenIds);
  const writeAgain = (...tokenIds: string[]) => begin(tokenIds, [tally]);
  return { write, writeAgain, writes, settled, takenBack };
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

test('E11: a job that another worker took over is not counted: who does it again counts it', async () => {
  const { write, writeAgain, writes, settled, takenBack } = startWriter({ looks: [false] });
  for (const { counted } of [await write(randomUUID()), await writeAgain(randomUUID())])
    await expect(counted).rejects.toThrow('not surely held');
  expect([writes, settled, takenBack]).toEqual([[], [], []]);
});

test('E11: what was counted while another worker took the job over is taken back', async () => {
  const { write, writeAgain, writes, settled, takenBack } = startWriter({ looks: [true, false] });
  for (const { counted } of [await write(randomUUID()), await writeAgain(randomUUID())])
    await expect(counted).rejects.toThrow('not surely held');
  expect([writes, settled, takenBack]).toEqual([[[1]], [2], ['a1', 'a2']]);
});

test('E11: so is what was counted while Redis does not say whose the job is, and what the store has not confirmed', async () => {
  const cause = new Error('Redis is away');
  const silent = startWriter({ looks: [true, cause] });
  await expect((await silent.write(randomUUID())).counted).rejects.toMatchObject({ cause });
  const unconfirmed = startWriter({ looks: [true, false], written: () => Promise.reject(new Error('the store is away')) });
  await expect((await unconfirmed.writeAgain(randomUUID())).counted).rejects.toThrow('not surely held');
  expect([silent.takenBack, unconfirmed.takenBack]).toEqual([['a1'], ['a1']]);
});

test('E11: where the store is away for a moment, a count is taken back after it', async () => {
  const { write, takenBack } = startWriter({ looks: [true, false], failures: 2 });
  const outcome = expect((await write(randomUUID())).counted).rejects.toThrow('not surely held');
  await vi.advanceTimersByTimeAsync(3_000);
  await outcome;
  expect(takenBack).toEqual(['a1']);
});
