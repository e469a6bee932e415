import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay, setImmediate as restOfTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../../src/shared/domain/service-error.ts';
import type { Batch, Imprint, TokenProof } from '../../../src/shared/domain/stamp.ts';
import { connectProducer, disconnect, untilReady } from '../../../src/shared/redis/connection.ts';
import { openProviderNotes } from '../../../src/shared/redis/provider-notes.ts';
import { encodeRequest } from '../../../src/shared/rfc3161/index.ts';
import type { AggregateSettings } from '../../../src/shared/trust/providers-file.ts';
import { createProviderPool } from '../../../src/workers/providers/pool.ts';
import { ProviderError, type StampSubject, TierUnavailableError, TsaRefusedError } from '../../../src/workers/providers/provider.ts';
import type { Rfc3161Provider } from '../../../src/workers/providers/rfc3161.ts';
import { freshRedisUrl } from '../../support/servers.ts';

const log = pino({ level: 'silent' });
const redis = connectProducer({ REDIS_URL: await freshRedisUrl() }, log);
await untilReady(redis);
afterAll(() => disconnect(redis));
/** No test sees what another one has noted about a provider. */
beforeEach(() => redis.flushdb());
const notes = openProviderNotes({ redis, log });

const all: AggregateSettings = { maxLeaves: 4_096, windowMs: 0, callers: ['internal'] };
const some = (count: number, more: Partial<StampSubject> = {}): StampSubject[] =>
  Array.from({ length: count }, () => ({
    tokenId: randomUUIDv7(),
    imprint: { algorithm: 'sha256', digest: randomBytes(32).toString('hex') },
    tier: 'basic',
    callerKind: 'internal',
    ...more,
  }));

const one = (more: Partial<StampSubject> = {}): StampSubject => some(1, more)[0]!;

/** A TSA that signs every request unless the test makes it fail. */
function tsaThat(name: string, options: Partial<Rfc3161Provider> & { answer?: (signal: AbortSignal) => Promise<unknown> } = {}) {
  const asked: Imprint[] = [];
  const { answer = async () => undefined, ...more } = options;
  let underWay = 0;
  let mostUnderWay = 0;
  const provider: Rfc3161Provider = {
    name,
    isQualified: false,
    mayBeQualified: more.isQualified ?? false,
    qualification: undefined,
    rate: undefined,
    policyOid: undefined,
    maxConcurrent: 4,
    aggregate: all,
    timeoutMs: 5_000,
    chain: () => undefined,
    close: () => undefined,
    readToken: () => {
      throw new Error('nobody reads these tokens');
    },
    stamp: async ({ imprint }, signal): Promise<TokenProof> => {
      asked.push(imprint);
      underWay += 1;
      mostUnderWay = Math.max(underWay, mostUnderWay);
      await answer(signal).finally(() => (underWay -= 1));
      const token = encodeRequest({ imprint: { ...imprint, digest: Buffer.from(imprint.digest, 'hex') }, nonce: undefined });
      const made = { token: token.toString('base64'), tsq: token, tsr: token };
      return { kind: 'token', provider: name, isQualified: false, issuedAt: '2026-11-21T12:00:00Z', ...made };
    },
    ...more,
  };
  return { provider, asked, mostUnderWay: () => mostUnderWay };
}

/** A TSA without batches. */
const plain = (name: string, answer: (signal: AbortSignal) => Promise<unknown> = async () => undefined) =>
  tsaThat(name, { aggregate: undefined, answer });
const hang = (signal: AbortSignal) => delay(60_000, undefined, { signal });
const fails = { answer: () => Promise.reject(new Error('it lies')) };

function poolOf(tsas: readonly { provider: Rfc3161Provider }[], deadlineMs = 3_000, keep: () => Promise<unknown> = async () => undefined) {
  const kept: { batch: Batch; tokenIds: string[] }[] = [];
  const outcomes: string[] = [];
  const pool = createProviderPool({
    providers: tsas.map(({ provider }) => provider),
    deadlineMs,
    notes,
    clock: Date.now,
    log,
    onCall: ({ outcome }) => outcomes.push(outcome),
    keepBatch: async (batch, leaves) => {
      await keep();
      kept.push({ batch, tokenIds: leaves.map(({ tokenId }) => tokenId) });
    },
  });
  onTestFinished(() => pool.close());
  return { pool, kept, outcomes };
}

test('S14: requests that wait together become one; a single stamp is a plain token', async () => {
  const tsa = tsaThat('one');
  const { pool, kept } = poolOf([tsa]);
  expect(await pool.stamp(one())).toMatchObject({ kind: 'token' });
  const subjects = some(50);
  const proofs = await Promise.all(subjects.map((subject) => pool.stamp(subject)));
  expect([proofs.map(({ kind }) => kind), tsa.asked.length, kept.length]).toEqual([subjects.map(() => 'leaf'), 2, 1]);
  expect(kept[0]).toMatchObject({ batch: { leaves: 50, root: tsa.asked[1] }, tokenIds: subjects.map(({ tokenId }) => tokenId) });
});

test('S14: after a wrong answer for a batch, the next TSA gets the same root: no imprint is in two trees', async () => {
  const [liar, second] = [tsaThat('liar', fails), tsaThat('second')];
  const { pool, kept } = poolOf([liar, second]);
  const proofs = await Promise.all(some(20).map((subject) => pool.stamp(subject)));
  expect(new Set(proofs.map(({ provider }) => provider))).toEqual(new Set(['second']));
  expect([liar.asked.length, second.asked, kept.length]).toEqual([1, liar.asked, 1]);
});

test('S14: after a failed batch, a TSA without batches is asked for each stamp; a wrong answer affects only its own batch', async () => {
  const [liar, second] = [tsaThat('liar', fails), plain('second')];
  const { pool, kept } = poolOf([liar, second]);
  const proofs = await Promise.all(some(5).map((subject) => pool.stamp(subject)));
  expect([proofs.map(({ kind }) => kind), second.asked.length, kept]).toEqual([Array.from({ length: 5 }, () => 'token'), 5, []]);

  let lies = 1;
  const once = tsaThat('once', { answer: async () => (lies-- > 0 ? Promise.reject(new Error('a lie')) : undefined) });
  const { pool: alone } = poolOf([once]);
  const first = await Promise.allSettled(some(3).map((subject) => alone.stamp(subject)));
  expect(first.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof ProviderError)).toBe(true);
  expect(await Promise.all(some(3).map((subject) => alone.stamp(subject)))).toHaveLength(3);
});

test('E10: a batch that cannot be stored gives no leaf, and no TSA is blamed', async () => {
  const away = () => Promise.reject(new ServiceError('store_unavailable', 'away'));
  const tsa = tsaThat('one');
  const { pool } = poolOf([tsa, tsaThat('two')], 3_000, away);
  const outcomes = await Promise.allSettled(some(4).map((subject) => pool.stamp(subject)));
  expect(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof ServiceError)).toBe(true);
  expect([tsa.asked.length, pool.health().map(({ status }) => status)]).toEqual([1, ['operational', 'operational']]);
});

test('S14: each algorithm, and stamps that must be qualified, have their own trees; time-stamp clients have none', async () => {
  const tsa = tsaThat('one', { isQualified: true });
  const { pool, kept } = poolOf([tsa]);
  const sha512 = { algorithm: 'sha512', digest: randomBytes(64).toString('hex') } as const;
  const asked = { nonce: 1n, policy: undefined, hasNullParameters: false };
  const subjects = [
    ...some(3),
    ...some(3, { imprint: sha512 }),
    ...some(3, { requiresQualified: true }),
    ...some(2, { callerKind: 'tsa', asked }),
    ...some(2, { callerKind: 'agent' }),
  ];
  const proofs = await Promise.all(subjects.map((subject) => pool.stamp(subject)));
  expect(kept.map(({ batch }) => `${batch.leaves} ${batch.root.algorithm}`).sort()).toEqual(['3 sha256', '3 sha256', '3 sha512']);
  expect(proofs.slice(9).map(({ kind }) => kind)).toEqual(Array(4).fill('token'));
});

test('S14: batch size and concurrent requests stay within the providers file', async () => {
  const tsa = tsaThat('one', { maxConcurrent: 2, aggregate: { ...all, maxLeaves: 10 }, answer: () => restOfTurn() });
  const { pool, kept } = poolOf([tsa]);
  await Promise.all(some(95).map((subject) => pool.stamp(subject)));
  expect([tsa.mostUnderWay(), kept.every(({ batch }) => batch.leaves <= 10), tsa.asked.length]).toEqual([2, true, 10]);
});

test('stamps for which nobody waits use at most a quarter of the places of a provider, alone and in batches', async () => {
  const [alone, batches] = [plain('alone', () => restOfTurn()), tsaThat('batches', { answer: () => restOfTurn() })];
  const few = { ...all, maxLeaves: 5 };
  const tsas = [alone, { ...batches, provider: { ...batches.provider, maxConcurrent: 8, aggregate: few } }];
  for (const tsa of tsas) {
    const { pool } = poolOf([tsa]);
    await Promise.all(some(60, { isPromised: true }).map((subject) => pool.stamp(subject)));
  }
  expect([alone.mostUnderWay(), batches.mostUnderWay()]).toEqual([1, 2]);
});

test('a stamp that somebody waits for does not wait for the places of the others', async () => {
  const open = Promise.withResolvers<void>();
  const tsa = plain('one', async () => (tsa.asked.length === 1 ? open.promise : undefined));
  const { pool } = poolOf([tsa]);
  const promised = some(5, { isPromised: true }).map((subject) => pool.stamp(subject));
  await expect.poll(() => tsa.asked.length).toBe(1);
  expect(await pool.stamp(one())).toMatchObject({ kind: 'token' });
  expect(tsa.asked).toHaveLength(2);
  open.resolve();
  await Promise.all(promised);
});

test('a burst beyond the capacity of a provider leaves it in service', async () => {
  const slow = plain('slow', (signal) => delay(200, undefined, { signal }));
  const { pool } = poolOf([slow], 2_000);
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => pool.stamp(one())));
  expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
  expect(pool.health()[0]?.status).toBe('operational');
  await expect(pool.stamp(one())).resolves.toMatchObject({ provider: 'slow' });
});

test('a provider that hangs is skipped after five calls', async () => {
  const hanging = plain('hanging', hang);
  const { pool } = poolOf([hanging], 250);
  for (let stamp = 0; stamp < 8; stamp += 1) await expect(pool.stamp(one())).rejects.toThrow(ProviderError);
  expect(hanging.asked).toHaveLength(5);
  expect(pool.health()[0]?.status).toBe('outage');
});

test('providers that hang leave enough time for the one that answers', async () => {
  const { pool } = poolOf([plain('first', hang), plain('second', hang), plain('third')]);
  await expect(pool.stamp(one())).resolves.toMatchObject({ provider: 'third' });
});

test('only qualified providers are asked if qualification is required (W2)', async () => {
  const first = plain('first');
  const { pool } = poolOf([first, tsaThat('qualified', { isQualified: true })]);
  await expect(pool.stamp(one({ requiresQualified: true }))).resolves.toMatchObject({ provider: 'qualified' });
  expect(first.asked).toHaveLength(0);
});

test('without a qualified provider a qualified stamp is refused: no provider is asked or counted as failed (W19)', async () => {
  const first = plain('first');
  const { pool, outcomes } = poolOf([first]);
  for (let stamp = 0; stamp < 3; stamp += 1)
    await expect(pool.stamp(one({ requiresQualified: true }))).rejects.toThrow(TierUnavailableError);
  expect([first.asked, outcomes, pool.health()[0]?.status]).toEqual([[], ['refused', 'refused', 'refused'], 'operational']);
});

test('a request is refused if every provider refuses it, even without a reason; a provider that is down might accept it (T2)', async () => {
  const refusing = plain('refusing', () => Promise.reject(new TsaRefusedError(undefined, 'no')));
  const down = plain('down', () => Promise.reject(new Error('down')));
  await expect(poolOf([refusing]).pool.stamp(one())).rejects.toThrow(TsaRefusedError);
  await expect(poolOf([refusing, down]).pool.stamp(one())).rejects.not.toThrow(TsaRefusedError);
});
