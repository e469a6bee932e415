import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/shared/domain/service-error.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { createHealthRecord, type OnCall, withHealthRecord } from '../../../src/workers/providers/health.ts';
import { createMockProvider } from '../../../src/workers/providers/open-provider.ts';
import { ProviderError, TierUnavailableError, type TimestampProvider } from '../../../src/workers/providers/provider.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const recordOf = (isOut?: () => boolean) =>
  createHealthRecord({ name: 'acme', isQualified: () => true, clock: () => now, ...(isOut && { isOut }) });

test('the state follows the calls: at first operational, one failure degraded, three in a row an outage, a success operational', () => {
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
    record.failed();
    expect(record.read().status).toBe(status);
  }
  record.succeeded(5);
  expect(record.read()).toMatchObject({ status: 'operational', lastSuccessAt: '2026-11-21T12:00:00.000Z' });
  // An open breaker is an outage, whatever the result of the last call.
  isOut = true;
  expect(record.read().status).toBe('outage');
});

test('p50 and p95 are the nearest ranks of the latencies; old latencies are dropped', () => {
  const record = recordOf();
  for (let latency = 1; latency <= 100; latency += 1) record.succeeded(latency);
  expect(record.read()).toMatchObject({ p50: 50, p95: 95 });
  for (let call = 0; call < 512; call += 1) record.succeeded(7);
  expect(record.read()).toMatchObject({ p50: 7, p95: 7 });
});

test('calls of a wrapped provider are measured; a failure of the store does not count against it', async () => {
  let error: Error | undefined;
  const port: TimestampProvider = {
    name: 'acme',
    isQualified: false,
    checkQualified: async () => undefined,
    stamp: async () => {
      if (error) throw error;
      return { kind: 'mock', provider: 'acme', isQualified: false, issuedAt: '2026-11-21T12:00:00Z', token: '' };
    },
  };
  const { provider, record } = withHealthRecord(port, () => now);
  const stamp = () => provider.stamp({ tokenId: '', imprint: sha256Imprint(''), tier: 'basic' });
  error = new ServiceError('store_unavailable', 'The store cannot be reached.');
  await expect(stamp()).rejects.toThrow(error);
  expect(record.read().status).toBe('operational');
  error = new ProviderError('refused');
  await expect(stamp()).rejects.toThrow(error);
  expect(record.read().status).toBe('degraded');
  error = undefined;
  await stamp();
  expect(record.read()).toMatchObject({ status: 'operational', p50: 0 });
});

const mockWithCalls = () => {
  const calls: string[] = [];
  const onCall: OnCall = ({ provider, outcome }) => calls.push(`${provider} ${outcome}`);
  const mock = createMockProvider({ key: async () => createSecretKey(Buffer.alloc(32)), clock: () => now });
  return { calls, ...withHealthRecord(mock, () => now, onCall) };
};

test('refusing a stamp that the mock provider may not make is not a failure (W19)', async () => {
  const { provider, record, calls } = mockWithCalls();
  const other = { tokenId: '', imprint: { algorithm: 'sha384', digest: 'a'.repeat(96) }, tier: 'basic' } as const;
  for (let stamp = 0; stamp < 3; stamp += 1) await expect(provider.stamp(other)).rejects.toThrow(TierUnavailableError);
  expect(calls).toEqual(['mock refused', 'mock refused', 'mock refused']);
  expect(record.read().status).toBe('operational');
});

test('a check records that a provider answers, and counts no stamp', async () => {
  const { record, calls, check } = mockWithCalls();
  expect(await check()).toMatchObject({ provider: 'mock', isQualified: false, verdict: 'ok', fault: null, certificate: null });
  expect(record.read().lastSuccessAt).toBe('2026-11-21T12:00:00.000Z');
  expect(calls).toEqual([]);
});
