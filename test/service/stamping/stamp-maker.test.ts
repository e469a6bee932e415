import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ServiceError, TransientError } from '../../../src/shared/domain/service-error.ts';
import { type Proof, sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { isTransient } from '../../../src/shared/queue/consumer.ts';
import type { StampItem } from '../../../src/shared/queue/jobs.ts';
import type { WorkerReply } from '../../../src/shared/queue/replies.ts';
import {
  ProviderError,
  type StampSubject,
  TierUnavailableError,
  type TimestampProvider,
  TsaRefusedError,
} from '../../../src/workers/providers/provider.ts';
import { createStampProcessors } from '../../../src/workers/stamping/stamp-job.ts';
import { makeStamps } from '../../../src/workers/stamping/stamp-maker.ts';
import { stampItem } from '../../support/stamp-items.ts';
import { workerTools } from '../../support/worker-tools.ts';

/** Requests for one-letter digests: `a` and `b` are stamped; for each other letter the provider has another outcome. */
const itemOf = (letter: string): StampItem => ({ ...stampItem(), imprint: sha256Imprint(letter.repeat(64)) });
const [idOf, idsOf] = [
  ({ tokenId }: StampItem) => tokenId,
  (items: readonly { readonly tokenId: string }[]) => items.map(({ tokenId }) => tokenId),
];

type Failures = Readonly<Record<string, () => unknown>>;

/** A stamp maker with its own store. */
function startMaker(failures: Failures = {}) {
  const asked: string[] = [];
  const lines: string[] = [];
  const provider: TimestampProvider = {
    name: 'test',
    isQualified: false,
    checkQualified: async () => undefined,
    stamp: async ({ tokenId, imprint, requiresQualified }: StampSubject): Promise<Proof> => {
      asked.push(tokenId);
      const failure = failures[imprint.digest[0]!];
      if (failure) throw failure();
      if (requiresQualified) throw new TierUnavailableError('nobody may');
      return { kind: 'mock', token: randomUUIDv7(), issuedAt: new Date().toISOString(), provider: 'test', isQualified: false };
    },
  };
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const tools = workerTools({ provider, log });
  const { store } = tools;
  return {
    make: (items: readonly StampItem[], options: Parameters<typeof makeStamps>[2]) => makeStamps(tools, items, options),
    tools,
    asked,
    said: () => lines.map((line) => JSON.parse(line)),
    /** The counts. */
    counted: async () => {
      await store.counters.close();
      const { lifetime } = await store.counters.totals(Date.now() + 7_200_000);
      return { stamps: lifetime.stamps, failed: lifetime.failed };
    },
  };
}

test('E11: another run finds an existing stamp, asks no provider again and counts it once', async () => {
  const { make, asked, counted } = startMaker();
  const [first, second] = [itemOf('a'), itemOf('b')];
  const before = await make([first], { mayExist: false });
  const after = await make([first, second], { mayExist: true });
  expect(after.stored.find(({ tokenId }) => tokenId === first.tokenId)).toEqual(before.stored[0]);
  expect(idsOf(after.stored)).toEqual([first, second].map(idOf));
  expect([asked, await counted()]).toEqual([[first, second].map(idOf), { stamps: 2, failed: 0 }]);
});

test('S7: of two concurrent runs the first to write wins; both return its stamp, counted once; the same for duplicates in a job', async () => {
  const { make, counted } = startMaker();
  const item = itemOf('a');
  const [one, another] = await Promise.all([make([item, item], { mayExist: false }), make([item], { mayExist: false })]);
  expect(one.stored).toHaveLength(1);
  expect(one.stored).toEqual(another.stored);
  expect(await counted()).toEqual({ stamps: 1, failed: 0 });
});

test('refused and failed are separate: only provider failures count, once they are reported; the log has a number for each (W19)', async () => {
  const { make, counted, said } = startMaker({ c: () => new ProviderError('nobody could') });
  const [failed, refused] = [itemOf('c'), { ...itemOf('a'), requiresQualified: true }];
  expect(await make([failed, refused], { mayExist: false })).toEqual({
    stored: [],
    failed: [{ item: failed, code: 'provider_failed', tally: expect.objectContaining({ outcome: 'failed', provider: 'test' }) }],
    refused: [{ item: refused, code: 'tier_unavailable' }],
    owed: [],
    retryInMs: undefined,
  });
  expect(await counted()).toEqual({ stamps: 0, failed: 0 });
  expect(Object.fromEntries(said().map(({ tokenId, msg }) => [tokenId, msg]))).toMatchObject({
    [failed.tokenId]: 'no provider made the stamp',
    [refused.tokenId]: 'the stamp was refused',
  });
  expect(said().at(-1)).toMatchObject({ stamped: 0, failed: 1, refused: 1 });
});

test('W19: a promised stamp that no provider can make qualified is never owed, unless a trusted list that is read later may change that', async () => {
  for (const [isPassing, owed] of [
    [false, 0],
    [true, 1],
  ] as const) {
    const { make } = startMaker({ f: () => new TierUnavailableError('no', isPassing) });
    expect((await make([itemOf('f')], { mayExist: false, isFinal: () => false })).owed).toHaveLength(owed);
  }
});

test('a stamp that every TSA refuses is never owed, whatever its age and the TSA’s reason; other failures are (T2, E11)', async () => {
  const { make, counted } = startMaker({
    c: () => new TsaRefusedError('badAlg', 'no'),
    d: () => new TsaRefusedError(undefined, 'no'),
    e: () => new ProviderError('no'),
  });
  const [named, unnamed, down] = [itemOf('c'), itemOf('d'), itemOf('e')];
  const { refused, owed } = await make([named, unnamed, down], { mayExist: true, isFinal: () => false });
  expect(owed).toEqual([down]);
  const faults = refused.map(({ item, code, fault }) => [item.tokenId, code, fault]);
  expect(faults.toSorted()).toEqual(
    [
      [named.tokenId, 'request_refused', 'badAlg'],
      [unnamed.tokenId, 'request_refused', undefined],
    ].toSorted(),
  );
  expect(await counted()).toEqual({ stamps: 0, failed: 0 });
});

const acceptedAt = 1_000_000;
const jobItem = (letter = 'a'): StampItem => ({ ...itemOf(letter), acceptedAt });
const outputItem = (letter = 'a'): StampItem => ({
  ...jobItem(letter),
  caller: { kind: 'workflow' },
  output: { workflowId: randomUUIDv7(), briefingHash: 'b'.repeat(64), outputId: randomUUIDv7(), type: 'text' },
});
const broken = (): StampItem => ({ ...jobItem(), imprint: sha256Imprint('ab') });
const nobodyCould = () => new ProviderError('nobody could');

interface Run {
  readonly failures?: Failures;
  /** The time of the provider’s answer, in milliseconds after the items were accepted. */
  readonly answeredAfterMs?: number;
  /** The time when the job begins, in milliseconds after the items were accepted. */
  readonly begunAfterMs?: number;
  readonly isOurs?: boolean;
}

/** One run of a job: its error, the outcomes reported to callers, and the remaining items. */
async function runJob(items: readonly StampItem[], { failures = {}, answeredAfterMs = 500, begunAfterMs = 0, isOurs = true }: Run = {}) {
  const maker = startMaker(failures);
  const { tools, asked, counted } = maker;
  const told = new Map<string, string>();
  const kept: object[] = [];
  const handedOver: StampItem[] = [];
  const { stamp } = createStampProcessors({
    ...tools,
    sendReplies: async (_to, replies: readonly WorkerReply[]) => {
      for (const reply of replies) if ('tokenId' in reply) told.set(reply.tokenId, reply.outcome);
    },
    handOver: async (_to, given) => void handedOver.push(...given),
    clock: () => acceptedAt + (asked.length > 0 ? answeredAfterMs : begunAfterMs),
  });
  const run = { jobId: 'job', isRetry: false, isOurs: async () => isOurs, keepOnly: async (rest: object) => void kept.push(rest) };
  const thrown = await stamp({ replyTo: 'api', items: [...items] }, run).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { thrown, told: items.map(({ tokenId }) => told.get(tokenId)), kept: kept[0], handedOver, asked, counted: await counted() };
}

test('E9: a caller learns that no provider stamped only if no worker will stamp it later', async () => {
  const failures = { c: nobodyCould };
  expect(await runJob([jobItem('c')], { failures })).toMatchObject({ thrown: undefined, told: ['failed'], kept: undefined });
  // Another worker has the job, and may have stamped.
  const { thrown, told } = await runJob([jobItem('c')], { failures, isOurs: false });
  expect([isTransient(thrown), told]).toEqual([true, [undefined]]);
});

test('E11: if the caller has already had its 504, the stamp is owed in the other queue; an output keeps its queue (W8)', async () => {
  const [one, output] = [jobItem('c'), outputItem('c')];
  const late = { failures: { c: nobodyCould }, answeredAfterMs: 9_500 };
  expect(await runJob([one], late)).toMatchObject({ thrown: undefined, told: [undefined], kept: undefined, handedOver: [one] });
  const { thrown, told, kept, handedOver } = await runJob([one, output], late);
  expect([isTransient(thrown), told, kept, handedOver]).toEqual([true, [undefined, undefined], { replyTo: 'api', items: [output] }, [one]]);
});

test('R7: a job that begins late first hands over what nobody waits for, and makes only the rest; outputs stay', async () => {
  const [waitedFor, promised, output] = [jobItem(), { ...jobItem(), isPromised: true }, { ...outputItem(), isPromised: true }];
  const late = { ...jobItem(), acceptedAt: acceptedAt - 10_001 };
  const { told, kept, handedOver, asked } = await runJob([promised, waitedFor, output, late]);
  expect(handedOver).toEqual([promised, late]);
  expect(kept).toEqual({ replyTo: 'api', items: [waitedFor, output] });
  expect(told).toEqual([undefined, 'stamped', 'stamped', undefined]);
  expect(asked.toSorted()).toEqual([waitedFor, output].map(idOf).toSorted());
});

test('S7, E11: if a worker dies between the steps of a hand-over, both jobs have the item, and it is stamped once', async () => {
  const maker = startMaker();
  const moved: StampItem[] = [];
  const died = new TransientError('another worker has taken the job over');
  const { stamp: first, 'promised-stamp': second } = createStampProcessors({
    ...maker.tools,
    clock: () => acceptedAt,
    handOver: async (_to, given) => void moved.push(...given),
  });
  const keepOnly = () => Promise.reject(died);
  const run = { jobId: 'job', isRetry: true, isOurs: async () => true, keepOnly };
  const items = [{ ...jobItem(), isPromised: true }, jobItem()];
  await expect(first({ replyTo: 'api', items }, run)).rejects.toBe(died);
  expect([moved, maker.asked]).toEqual([[items[0]], []]);
  await second({ replyTo: 'api', items: moved, isRepeated: true }, { ...run, isRetry: false });
  await second({ replyTo: 'api', items }, run);
  expect([maker.asked, await maker.counted()]).toEqual([items.map(idOf), { stamps: 2, failed: 0 }]);
});

test('E11: if the clock of the API was wrong, so that the item comes from the future, the stamp is owed; a small difference does not matter', async () => {
  const [future, soon] = [
    { ...jobItem('c'), acceptedAt: acceptedAt + 3_600_000 },
    { ...jobItem('c'), acceptedAt: acceptedAt + 1_400 },
  ];
  const { told, handedOver } = await runJob([future, soon], { failures: { c: nobodyCould } });
  expect([told, handedOver]).toEqual([[undefined, 'failed'], [future]]);
});

test('E11: an item that cannot be made is kept and reported alone; the other items of its job are made, answered and counted once', async () => {
  const items = [jobItem(), broken(), jobItem(), broken(), jobItem()];
  const { thrown, told, kept, asked, counted } = await runJob(items);
  expect(told).toEqual(['stamped', undefined, 'stamped', undefined, 'stamped']);
  expect(kept).toEqual({ replyTo: 'api', items: [items[1], items[3]] });
  expect([isTransient(thrown), String(thrown)]).toEqual([false, `Error: the digest of ${items[1]!.tokenId} is not a sha256`]);
  expect(asked.toSorted()).toEqual([items[0], items[2], items[4]].map((one) => idOf(one!)).toSorted());
  expect(counted).toEqual({ stamps: 3, failed: 0 });
});

test('E11: if another item is owed, it leaves the job of the item that cannot be made', async () => {
  const items = [jobItem('c'), broken(), jobItem()];
  const { thrown, told, kept, handedOver } = await runJob(items, { failures: { c: nobodyCould }, answeredAfterMs: 9_500 });
  expect([isTransient(thrown), told]).toEqual([false, [undefined, undefined, 'stamped']]);
  expect([handedOver, kept]).toEqual([[items[0]], { replyTo: 'api', items: [items[1]] }]);
});

test('E10: if the store is away for one stamp, the whole job is retried unchanged; the other stamps are stored and counted', async () => {
  const lost = new ServiceError('store_unavailable', 'The store cannot be reached.');
  const run = await runJob([jobItem('c'), jobItem()], { failures: { c: () => lost } });
  expect(run).toMatchObject({ thrown: lost, kept: undefined, counted: { stamps: 1, failed: 0 } });
});
