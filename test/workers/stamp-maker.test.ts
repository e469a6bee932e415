import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import type { StampItem } from '../../src/shared/queue/stamp-job.ts';
import type { StampTally, Tallied } from '../../src/shared/store/counters.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import { ProviderError, TierUnavailableError, type TimestampProvider, TsaRefusedError } from '../../src/workers/providers/provider.ts';
import { createStampMaker } from '../../src/workers/stamping/stamp-maker.ts';
import { doneCounting } from '../support/done-counting.ts';

afterEach(() => void vi.useRealTimers());

const itemOf = (hash: string): StampItem => ({
  tokenId: randomUUID(),
  imprint: sha256Imprint(hash),
  tier: 'basic',
  caller: { kind: 'agent' },
  acceptedAt: Date.now(),
  requestId: 'test',
});

const firstRun = { run: 1, isRetry: false, life: 'job@1', isOurs: async () => true, endsAfter: () => undefined, onEnd: () => undefined };

const noCounts = { settle: async () => doneCounting, runEnded: () => undefined };

/** A store in which everything is new. */
const stamps = {
  findMany: async () => [],
  insertOnce: async (records: readonly StoredStamp[]) => ({ stored: [...records], added: [...records] }),
};

const directory = { wrote: async () => undefined };

const concurrency = 256;

test('counters that never answer hold up neither a stamp nor a failure (E9)', async () => {
  vi.useFakeTimers();
  const never = () => new Promise<never>(() => {});
  const provider: TimestampProvider = {
    name: 'test',
    isQualified: false,
    stamp: async ({ imprint }) => {
      if (imprint.digest === 'bad') throw new ProviderError('no');
      return { kind: 'mock', token: 'token', issuedAt: new Date().toISOString(), provider: 'test', isQualified: false };
    },
  };
  const counters = { ...noCounts, add: () => ({ ...doneCounting, written: never() }) };
  const make = createStampMaker({ provider, stamps, directory, counters, clock: Date.now, log: pino({ level: 'silent' }), concurrency });
  const [good, bad] = [itemOf('good'), itemOf('bad')];
  const made = make([good, bad], firstRun);
  await vi.advanceTimersByTimeAsync(1_000);
  const { stored, failed } = await made;
  expect([stored.map(({ tokenId }) => tokenId), failed]).toEqual([[good.tokenId], [{ item: bad, code: 'provider_failed' }]]);
});

test('refused and failed are told apart: only what a provider failed at is counted, and the log has a number for each (W19)', async () => {
  const counted: StampTally[] = [];
  const lines: string[] = [];
  const provider: TimestampProvider = {
    name: 'test',
    isQualified: false,
    stamp: async ({ requiresQualified }) => {
      throw requiresQualified ? new TierUnavailableError('nobody may') : new ProviderError('nobody could');
    },
  };
  const add = (given: readonly Tallied[]) => {
    counted.push(...given.flatMap(({ tallies }) => tallies));
    return doneCounting;
  };
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const make = createStampMaker({ provider, stamps, directory, counters: { ...noCounts, add }, clock: Date.now, log, concurrency });
  const [failed, refused] = [itemOf('a'), { ...itemOf('b'), requiresQualified: true }];
  expect(await make([failed, refused], firstRun)).toEqual({
    stored: [],
    failed: [{ item: failed, code: 'provider_failed' }],
    refused: [{ item: refused, code: 'tier_unavailable' }],
    owed: [],
    counted: expect.any(Promise),
  });
  expect(counted.map(({ outcome }) => outcome)).toEqual(['failed']);
  const said = lines.map((line) => JSON.parse(line));
  expect(Object.fromEntries(said.map(({ tokenId, msg }) => [tokenId, msg]))).toMatchObject({
    [failed.tokenId]: 'no provider made the stamp',
    [refused.tokenId]: 'the stamp was refused',
  });
  expect(said.at(-1)).toMatchObject({ stamped: 0, failed: 1, refused: 1 });
});

test('what every TSA refuses is never owed, however long ago it was asked for and whatever the TSA says; the rest is (T2, E11)', async () => {
  const refusals: Readonly<Record<string, Error>> = {
    named: new TsaRefusedError('badAlg', 'no'),
    unnamed: new TsaRefusedError(undefined, 'no'),
    down: new ProviderError('no'),
  };
  const provider: TimestampProvider = {
    name: 'test',
    isQualified: false,
    stamp: ({ imprint }) => Promise.reject(refusals[imprint.digest]),
  };
  const counters = { ...noCounts, add: () => doneCounting };
  const make = createStampMaker({ provider, stamps, directory, counters, clock: Date.now, log: pino({ level: 'silent' }), concurrency });
  const [named, unnamed, down] = [itemOf('named'), itemOf('unnamed'), itemOf('down')];
  const { refused, owed } = await make([named, unnamed, down], { ...firstRun, isRetry: true, isFinal: () => false });
  expect(owed).toEqual([down]);
  expect(refused.map(({ item, code, fault }) => [item, code, fault])).toEqual(
    expect.arrayContaining([
      [named, 'request_refused', 'badAlg'],
      [unnamed, 'request_refused', undefined],
    ]),
  );
});

test('S12: a job that is done again counts what it made before, and not what another request with the same id made', async () => {
  const [ours, others] = [itemOf('ours'), itemOf('others')];
  const proof = { kind: 'mock', token: 'token', issuedAt: new Date().toISOString(), provider: 'test', isQualified: false } as const;
  const provider: TimestampProvider = { name: 'test', isQualified: false, stamp: async () => proof };
  const recordOf = ({ acceptedAt, ...item }: StampItem, requestId: string): StoredStamp => ({
    ...item,
    proofs: [proof],
    acceptedAt: new Date(acceptedAt),
    requestId,
  });
  const known = [recordOf(ours, ours.requestId), recordOf(others, 'another')];
  const settled: number[] = [];
  const counters = {
    ...noCounts,
    add: () => doneCounting,
    settle: async ({ tallies }: Tallied) => {
      settled.push(tallies.length);
      return doneCounting;
    },
  };
  const found = { ...stamps, findMany: async () => known };
  const make = createStampMaker({
    provider,
    stamps: found,
    directory,
    counters,
    clock: Date.now,
    log: pino({ level: 'silent' }),
    concurrency,
  });
  const { stored, counted } = await make([ours, others], { ...firstRun, isRetry: true });
  await counted;
  expect([stored, settled]).toEqual([known, [1]]);
  // Of a job that was sent twice, what was there before it was counted before it.
  const repeated = { countedBefore: [ours.tokenId], note: async () => expect.unreachable('it is noted') };
  await (await make([ours, others], { ...firstRun, isRetry: true, repeated })).counted;
  expect(settled).toEqual([1, 0]);
});
