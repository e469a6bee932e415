import { describe, expect, test } from 'vitest';
import { assess, type Sighting } from '../../../src/api/services/service-state.ts';
import type { ProviderHealth } from '../../../src/shared/queue/heartbeat.ts';

const health = (members: Partial<ProviderHealth> = {}): ProviderHealth => ({
  name: 'acme',
  isQualified: true,
  status: 'operational',
  lastSuccessAt: null,
  p50: null,
  p95: null,
  ...members,
});

const well: Sighting = {
  isStoreUp: true,
  workers: [[health()]],
  queue: { oldestAgeMs: null },
  known: [{ name: 'acme', is_qualified: true, status: 'operational', last_success_at: null, latency_ms: { p50: 3, p95: 9 } }],
  stampWaitMs: 10_000,
};

const statusOf = (change: Partial<Sighting>) => assess({ ...well, ...change }).status;

describe('the state of the service (decisions, Public JSON)', () => {
  test('all well is operational, with nothing to note', () => {
    const { status, components } = assess(well);
    expect(status).toBe('operational');
    expect(components.every((part) => part.status === 'operational' && part.note === '')).toBe(true);
  });

  test.each<[string, Partial<Sighting>, string]>([
    ['no store', { isStoreUp: false }, 'outage'],
    ['no queue', { queue: undefined, workers: undefined }, 'outage'],
    ['no worker', { workers: [] }, 'outage'],
    ['jobs older than callers wait', { queue: { oldestAgeMs: 10_001 } }, 'degraded'],
    ['jobs that wait a little', { queue: { oldestAgeMs: 9_999 } }, 'operational'],
    ['its only provider out', { workers: [[health({ status: 'outage' })]] }, 'outage'],
    ['its only provider degraded', { workers: [[health({ status: 'degraded' })]] }, 'degraded'],
    ['its preferred provider out, another one well', { workers: [[health({ status: 'outage' }), health({ name: 'b' })]] }, 'degraded'],
    ['a provider out for one worker of two', { workers: [[health({ status: 'outage' })], [health()]] }, 'degraded'],
  ])('with %s', (_, change, status) => {
    expect(statusOf(change)).toBe(status);
  });

  test('several workers speak of one provider: the last success and the slowest latencies count', () => {
    const { providers } = assess({
      ...well,
      workers: [
        [health({ lastSuccessAt: '2026-11-21T12:00:00.000Z', p50: 4, p95: 8 }), health({ name: 'b', isQualified: false })],
        [health({ lastSuccessAt: '2026-11-21T12:00:01.000Z', p50: 2, p95: 90 })],
      ],
    });
    expect(providers).toEqual([
      {
        name: 'acme',
        is_qualified: true,
        status: 'operational',
        last_success_at: '2026-11-21T12:00:01.000Z',
        latency_ms: { p50: 4, p95: 90 },
      },
      { name: 'b', is_qualified: false, status: 'operational', last_success_at: null, latency_ms: { p50: null, p95: null } },
    ]);
  });

  test('without a worker the providers stay named, and are out', () => {
    expect(assess({ ...well, workers: [] }).providers).toEqual([{ ...well.known[0], status: 'outage' }]);
  });
});
