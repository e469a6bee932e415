import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { createProviderPool } from '../../../src/workers/providers/pool.ts';
import { ProviderError, type StampSubject, TierUnavailableError, TsaRefusedError } from '../../../src/workers/providers/provider.ts';
import type { Rfc3161Provider } from '../../../src/workers/providers/rfc3161.ts';

const subject: StampSubject = { tokenId: '0198c0de-0000-7000-8000-000000000000', imprint: sha256Imprint('a'.repeat(64)), tier: 'basic' };

function providerThat(name: string, answer: (signal: AbortSignal) => Promise<unknown>, more: Partial<Rfc3161Provider> = {}) {
  const calls: number[] = [];
  const provider: Rfc3161Provider = {
    name,
    isQualified: false,
    policyOid: undefined,
    maxConcurrent: 4,
    aggregate: undefined,
    timeoutMs: 5_000,
    chain: () => undefined,
    close: () => undefined,
    readToken: () => {
      throw new Error('these tokens are empty');
    },
    stamp: async (_subject, signal) => {
      calls.push(Date.now());
      await answer(signal);
      const der = Buffer.alloc(0);
      return { kind: 'token', provider: name, isQualified: false, issuedAt: '2026-11-21T12:00:00Z', token: 'AAAA', tsq: der, tsr: der };
    },
    ...more,
  };
  return { provider, calls };
}

const noBatch = async () => {
  throw new Error('nothing is batched here');
};

const poolOf = (providers: Rfc3161Provider[], deadlineMs: number) =>
  createProviderPool({ providers, deadlineMs, clock: Date.now, log: pino({ level: 'silent' }), keepBatch: noBatch });

test('a burst that is more than a provider can take in time leaves it in service', async () => {
  const slow = providerThat('slow', (signal) => delay(200, undefined, { signal }));
  const pool = poolOf([slow.provider], 2_000);
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => pool.stamp(subject)));
  expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
  expect(pool.health()[0]?.status).toBe('operational');
  await expect(pool.stamp(subject)).resolves.toMatchObject({ provider: 'slow' });
});

test('a provider that hangs is left alone after five calls', async () => {
  const hanging = providerThat('hanging', (signal) => delay(60_000, undefined, { signal }));
  const pool = poolOf([hanging.provider], 50);
  for (let stamp = 0; stamp < 8; stamp += 1) await expect(pool.stamp(subject)).rejects.toThrow(ProviderError);
  expect(hanging.calls).toHaveLength(5);
  expect(pool.health()[0]?.status).toBe('outage');
});

test('providers that hang leave their share of the time to the one that answers', async () => {
  const hang = (signal: AbortSignal) => delay(60_000, undefined, { signal });
  const [first, second] = [providerThat('first', hang), providerThat('second', hang)];
  const third = providerThat('third', async () => undefined);
  const pool = poolOf([first.provider, second.provider, third.provider], 3_000);
  await expect(pool.stamp(subject)).resolves.toMatchObject({ provider: 'third' });
});

test('only qualified providers are asked where one is required (W2)', async () => {
  const plain = providerThat('plain', async () => undefined);
  const qualified = providerThat('qualified', async () => undefined, { isQualified: true });
  const pool = poolOf([plain.provider, qualified.provider], 1_000);
  await expect(pool.stamp({ ...subject, requiresQualified: true })).resolves.toMatchObject({ provider: 'qualified' });
  expect(plain.calls).toHaveLength(0);
});

test('without a qualified provider a qualified stamp is refused: nobody is asked, and nobody has failed (W19)', async () => {
  const plain = providerThat('plain', async () => undefined);
  const outcomes: string[] = [];
  const pool = createProviderPool({
    providers: [plain.provider],
    deadlineMs: 1_000,
    clock: Date.now,
    log: pino({ level: 'silent' }),
    keepBatch: noBatch,
    onCall: ({ outcome }) => outcomes.push(outcome),
  });
  for (let stamp = 0; stamp < 3; stamp += 1)
    await expect(pool.stamp({ ...subject, requiresQualified: true })).rejects.toThrow(TierUnavailableError);
  expect([plain.calls, outcomes, pool.health()[0]?.status]).toEqual([[], ['refused', 'refused', 'refused'], 'operational']);
});

test('a request that every provider refuses was refused, also where none says why; one that is down might take it (T2)', async () => {
  const refusing = providerThat('refusing', () => Promise.reject(new TsaRefusedError(undefined, 'no')));
  const down = providerThat('down', () => Promise.reject(new Error('down')));
  await expect(poolOf([refusing.provider], 1_000).stamp(subject)).rejects.toThrow(TsaRefusedError);
  await expect(poolOf([refusing.provider, down.provider], 1_000).stamp(subject)).rejects.not.toThrow(TsaRefusedError);
});
