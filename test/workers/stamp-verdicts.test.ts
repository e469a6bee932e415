import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../src/shared/domain/service-error.ts';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import { isTransient } from '../../src/shared/queue/consumer.ts';
import type { WorkerReply } from '../../src/shared/queue/sent-reply.ts';
import type { StampItem } from '../../src/shared/queue/stamp-job.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { createStampProcessor } from '../../src/workers/processors/stamp.ts';
import { ProviderError } from '../../src/workers/providers/provider.ts';
import { createStampMaker } from '../../src/workers/stamping/stamp-maker.ts';
import { freshStore } from '../support/servers.ts';
import { stampItem } from '../support/stamp-items.ts';

const log = pino({ level: 'silent' });
const acceptedAt = 1_000_000;
const item = (): StampItem => ({ ...stampItem(), acceptedAt });
const broken = (): StampItem => ({ ...item(), imprint: sha256Imprint('ab') });
const [reasonless, lost] = [new ProviderError('nobody could'), new ServiceError('store_unavailable', 'The store cannot be reached.')];

interface Run {
  readonly items: readonly StampItem[];
  /** What the provider does with items of this digest, instead of stamping them. */
  readonly failures?: ReadonlyMap<StampItem, Error>;
  /** When the provider has answered, milliseconds after the items were accepted. */
  readonly answeredAfterMs?: number;
  readonly isOurs?: boolean;
}

/** One run of a job, in a store of its own: what it threw, the outcomes that callers were told, and what is left of the job. */
async function runJob({ items, failures = new Map(), answeredAfterMs = 500, isOurs = true }: Run) {
  const store = openStore(freshStore(), log);
  onTestFinished(() => store.close());
  let clockMs = acceptedAt;
  const asked: string[] = [];
  const told = new Map<string, string>();
  const kept: object[] = [];
  const provider = {
    name: 'test',
    isQualified: false,
    stamp: async ({ tokenId }: Pick<StampItem, 'tokenId'>) => {
      asked.push(tokenId);
      clockMs = acceptedAt + answeredAfterMs;
      const failure = [...failures].find(([one]) => one.tokenId === tokenId)?.[1];
      if (failure) throw failure;
      return { kind: 'mock', token: randomUUIDv7(), issuedAt: '2026-05-20T12:30:00Z', provider: 'test', isQualified: false } as const;
    },
  };
  const process = createStampProcessor({
    ...store,
    makeStamps: createStampMaker({ ...store, provider, clock: Date.now, log }),
    appendOutputs: async () => new Map(),
    sendReplies: async (_to, replies: readonly WorkerReply[]) => {
      for (const { tokenId, outcome } of replies) told.set(tokenId, outcome);
    },
    announce: async () => undefined,
    clock: () => clockMs,
    log,
    waitMs: 10_000,
  });
  const run = { jobId: 'job', isRetry: false, isOurs: async () => isOurs, keepOnly: async (rest: object) => void kept.push(rest) };
  const thrown = await process({ replyTo: 'api', items: [...items] }, run).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { thrown, told: items.map(({ tokenId }) => told.get(tokenId)), kept: kept[0], asked };
}

test('E9: a caller is told that no provider stamped only where nobody will stamp it any more', async () => {
  const one = item();
  const failures = new Map([[one, reasonless]]);
  expect(await runJob({ items: [one], failures })).toMatchObject({ thrown: undefined, told: ['failed'], kept: undefined });
  // Another worker has the job, and may have stamped.
  const { thrown, told } = await runJob({ items: [one], failures, isOurs: false });
  expect([isTransient(thrown), told]).toEqual([true, [undefined]]);
});

test('E11: where the caller has had its 504 meanwhile, the stamp is owed', async () => {
  const one = item();
  const { thrown, told, kept } = await runJob({ items: [one], failures: new Map([[one, reasonless]]), answeredAfterMs: 9_500 });
  expect([isTransient(thrown), told, kept]).toEqual([true, [undefined], { replyTo: 'api', items: [one] }]);
});

test('E11: an item that cannot be made is alone kept and told of; the others of its job are made, answered, and asked for once', async () => {
  const items = [item(), broken(), item(), broken(), item()];
  const { thrown, told, kept, asked } = await runJob({ items });
  expect(told).toEqual(['stamped', undefined, 'stamped', undefined, 'stamped']);
  expect(kept).toEqual({ replyTo: 'api', items: [items[1], items[3]] });
  expect([isTransient(thrown), String(thrown)]).toEqual([false, `Error: the digest of ${items[1]!.tokenId} is no sha256`]);
  expect(asked.toSorted()).toEqual([items[0], items[2], items[4]].map((one) => one!.tokenId).toSorted());
});

test('E11: beside one that is owed, the job is tried again for both', async () => {
  const items = [item(), broken(), item()];
  const failures = new Map([[items[0]!, reasonless]]);
  const { thrown, told, kept } = await runJob({ items, failures, answeredAfterMs: 9_500 });
  expect([isTransient(thrown), told]).toEqual([true, [undefined, undefined, 'stamped']]);
  expect(kept).toEqual({ replyTo: 'api', items: [items[0], items[1]] });
});

test('E10: while the store is away the whole job is tried again, as it was', async () => {
  const items = [item(), item()];
  expect(await runJob({ items, failures: new Map([[items[0]!, lost]]) })).toMatchObject({ thrown: lost, kept: undefined });
});
