import { describe, expect, test } from 'vitest';
import { assess, type ObservedParts } from '../../../src/api/status/status.ts';
import type { Heartbeat, ProviderHealth } from '../../../src/shared/redis/heartbeat.ts';

const health = (members: Partial<ProviderHealth> = {}): ProviderHealth => ({
  name: 'acme',
  isQualified: true,
  mayBeQualified: true,
  status: 'operational',
  lastSuccessAt: null,
  p50: null,
  p95: null,
  ...members,
});

const worker = (providers: ProviderHealth[], mail: Heartbeat['mail'] = 'ok'): Heartbeat => ({ at: 0, providers, mail, isStoreFull: false });

const well: ObservedParts = {
  isStoreUp: true,
  refusing: { redis: false, mongodb: false },
  workers: [worker([health()])],
  queue: { oldestAgeMs: null },
  known: [
    {
      name: 'acme',
      is_qualified: false,
      qualification: 'not_asked',
      qualified: null,
      status: 'operational',
      last_success_at: null,
      latency_ms: { p50: 3, p95: 9 },
      next_request_at: null,
    },
  ],
  stampWaitMs: 10_000,
};

const statusOf = (change: Partial<ObservedParts>) => assess({ ...well, ...change }).status;

describe('the state of the service (decisions, Public JSON)', () => {
  test('if all is well the state is operational, without notes', () => {
    const { status, components } = assess(well);
    expect(status).toBe('operational');
    expect(components.every((part) => part.status === 'operational' && part.note === '')).toBe(true);
  });

  test.each<[string, Partial<ObservedParts>, string]>([
    ['no store', { isStoreUp: false }, 'outage'],
    ['no queue', { queue: undefined, workers: undefined }, 'outage'],
    ['no worker', { workers: [] }, 'outage'],
    ['jobs older than callers wait', { queue: { oldestAgeMs: 10_001 } }, 'degraded'],
    ['jobs that wait a little', { queue: { oldestAgeMs: 9_999 } }, 'operational'],
    ['its only provider out', { workers: [worker([health({ status: 'outage' })])] }, 'outage'],
    ['its only provider degraded', { workers: [worker([health({ status: 'degraded' })])] }, 'degraded'],
    [
      'its preferred provider out, another one well',
      { workers: [worker([health({ status: 'outage' }), health({ name: 'b' })])] },
      'degraded',
    ],
    ['mails that do not leave', { workers: [worker([health()], 'failing')] }, 'degraded'],
    ['no mail set up (W19)', { workers: [worker([health()], 'not_configured')] }, 'operational'],
    ['a provider out for one worker of two', { workers: [worker([health({ status: 'outage' })]), worker([health()])] }, 'degraded'],
  ])('with %s', (_, change, status) => {
    expect(statusOf(change)).toBe(status);
  });

  test('for several workers with one provider, the last success and the slowest latencies count', () => {
    const { providers } = assess({
      ...well,
      workers: [
        worker([health({ lastSuccessAt: '2026-11-21T12:00:00.000Z', p50: 4, p95: 8 }), health({ name: 'b', isQualified: false })]),
        worker([health({ lastSuccessAt: '2026-11-21T12:00:01.000Z', p50: 2, p95: 90, qualification: { basis: 'list', reason: null } })]),
      ],
    });
    expect(providers).toEqual([
      {
        name: 'acme',
        is_qualified: true,
        qualification: 'qualified',
        qualified: { status: 'qualified', basis: 'list', reason: null },
        status: 'operational',
        last_success_at: '2026-11-21T12:00:01.000Z',
        latency_ms: { p50: 4, p95: 90 },
        next_request_at: null,
      },
      {
        name: 'b',
        is_qualified: false,
        qualification: 'not_qualified',
        qualified: null,
        status: 'operational',
        last_success_at: null,
        latency_ms: { p50: null, p95: null },
        next_request_at: null,
      },
    ]);
  });

  test('of several workers, the fewest requests that are left and the latest time count', () => {
    const rate = { requests: 20, perSeconds: 1_200 };
    const { providers } = assess({
      ...well,
      workers: [
        worker([health({ rate: { ...rate, left: 3 } })]),
        worker([health({ rate: { ...rate, left: 0 }, nextRequestAt: '2026-11-26T12:00:00.000Z' })]),
      ],
    });
    expect(providers[0]).toMatchObject({
      rate: { requests: 20, per_seconds: 1_200, left: 0 },
      next_request_at: '2026-11-26T12:00:00.000Z',
    });
  });

  test('a provider configured as qualified counts as qualified after a verified token; before that it is not asked yet (V9)', () => {
    const of = (lastSuccessAt: string | null) => assess({ ...well, workers: [worker([health({ lastSuccessAt })])] }).providers[0];
    expect(of(null)).toMatchObject({ is_qualified: false, qualification: 'not_asked' });
    expect(of('2026-11-21T12:00:00.000Z')).toMatchObject({ is_qualified: true, qualification: 'qualified' });
  });

  test.each<[Heartbeat['mail'], string, RegExp]>([
    ['ok', 'operational', /^$/],
    ['failing', 'degraded', /did not accept the last mail/],
    ['unknown', 'unasked', /No mail was sent yet/],
    ['not_configured', 'not_configured', /verified and qualified cannot start/],
  ])('mail that is %s is a separate component, not part of stamping', (mail, status, note) => {
    const { components } = assess({ ...well, workers: [worker([health()], mail)] });
    expect(components.find(({ name }) => name === 'Mail')).toEqual({ name: 'Mail', status, note: expect.stringMatching(note) });
    expect(components.find(({ name }) => name === 'Stamping')?.status).toBe('operational');
  });

  test('without a worker the providers are still listed, as outages', () => {
    expect(assess({ ...well, workers: [] }).providers).toEqual([{ ...well.known[0], status: 'outage' }]);
  });
});
