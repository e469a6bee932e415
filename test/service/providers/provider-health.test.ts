import { createSecretKey, randomUUID } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ServiceError } from '../../../src/shared/domain/service-error.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { createHealthRecord, type OnCall } from '../../../src/workers/providers/health.ts';
import { createMockProvider } from '../../../src/workers/providers/open-provider.ts';
import { ProviderError, TierUnavailableError } from '../../../src/workers/providers/provider.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const recordOf = (isOut?: () => boolean) =>
  createHealthRecord({ name: 'acme', isQualified: () => true, clock: () => now, ...(isOut && { isOut }) });
const blame = () => 'provider' as const;
const call = (record: ReturnType<typeof recordOf>, error?: Error) =>
  record
    .call(
      async () => {
        if (error) throw error;
      },
      blame,
      () => undefined,
    )
    .catch(() => undefined);

test('the state follows the calls: at first operational, one failure degraded, three in a row an outage, a success operational', async () => {
  let isOut = false;
  const record = recordOf(() => isOut);
  const untried = {
    name: 'acme',
    isQualified: true,
    mayBeQualified: true,
    status: 'operational',
    lastSuccessAt: null,
    p50: null,
    p95: null,
  };
  expect(record.read()).toEqual(untried);
  for (const status of ['degraded', 'degraded', 'outage']) {
    await call(record, new Error('it lies'));
    expect(record.read().status).toBe(status);
  }
  await call(record);
  expect(record.read()).toMatchObject({ status: 'operational', lastSuccessAt: '2026-11-21T12:00:00.000Z' });
  // An open breaker is an outage, whatever the result of the last call.
  isOut = true;
  expect(record.read().status).toBe('outage');
});

test('p50 and p95 are the nearest ranks of the latencies; old latencies are dropped', async () => {
  let time = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => time);
  onTestFinished(() => void vi.restoreAllMocks());
  const record = recordOf();
  const took = (ms: number) =>
    record.call(
      async () => {
        time += ms;
      },
      blame,
      () => undefined,
    );
  for (let latency = 1; latency <= 100; latency += 1) await took(latency);
  expect(record.read()).toMatchObject({ p50: 50, p95: 95 });
  for (let each = 0; each < 512; each += 1) await took(7);
  expect(record.read()).toMatchObject({ p50: 7, p95: 7 });
});

test('calls of the mock provider are measured; a failure of the store does not count against it', async () => {
  let error: Error | undefined;
  const key = async () => {
    if (error) throw error;
    return createSecretKey(Buffer.alloc(32));
  };
  const mock = createMockProvider({ key, clock: () => now });
  const stamp = () => mock.stamp({ tokenId: randomUUID(), imprint: sha256Imprint('ab'.repeat(32)), tier: 'basic' });
  const state = () => mock.readHealth()[0];
  error = new ServiceError('store_unavailable', 'The store cannot be reached.');
  await expect(stamp()).rejects.toThrow(error);
  expect(state()).toMatchObject({ status: 'operational' });
  error = new ProviderError('refused');
  await expect(stamp()).rejects.toThrow(error);
  expect(state()).toMatchObject({ status: 'degraded' });
  error = undefined;
  await stamp();
  expect(state()).toMatchObject({ status: 'operational', p50: expect.any(Number) });
});

const mockWithCalls = () => {
  const calls: string[] = [];
  const onCall: OnCall = ({ provider, outcome }) => calls.push(`${provider} ${outcome}`);
  const mock = createMockProvider({ key: async () => createSecretKey(Buffer.alloc(32)), clock: () => now, onCall });
  return { calls, mock, state: () => mock.readHealth()[0] };
};

test('refusing a stamp that the mock provider may not make is not a failure (W19)', async () => {
  const { mock, state, calls } = mockWithCalls();
  const other = { tokenId: '', imprint: { algorithm: 'sha384', digest: 'a'.repeat(96) }, tier: 'basic' } as const;
  for (let stamp = 0; stamp < 3; stamp += 1) await expect(mock.stamp(other)).rejects.toThrow(TierUnavailableError);
  expect(calls).toEqual(['mock refused', 'mock refused', 'mock refused']);
  expect(state()).toMatchObject({ status: 'operational' });
});

test('a check records that a provider answers, and counts no stamp', async () => {
  const { mock, state, calls } = mockWithCalls();
  expect(await mock.check()).toMatchObject({ provider: 'mock', isQualified: false, verdict: 'ok', fault: null, certificate: null });
  expect(state()).toMatchObject({ lastSuccessAt: '2026-11-21T12:00:00.000Z' });
  expect(calls).toEqual([]);
});
