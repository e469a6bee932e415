import type { PageModels } from '../../src/api/server/views.ts';
import type { StatusFigures } from '../../src/api/status/status.ts';

/** Models of the status page and of the start page, like those of the service. */

const counters = {
  stamps: 48_213,
  failed: 12,
  verifications: 90_125,
  workflows_started: 310,
  workflows_completed: 287,
  evidence_renewed: 3_120,
};
const mock = {
  name: 'mock',
  is_qualified: false,
  qualification: 'not_qualified' as const,
  status: 'operational' as const,
  last_success_at: '2026-11-21T11:46:05Z',
  latency_ms: { p50: 2, p95: 9 },
  next_request_at: null,
};

const acme = { ...mock, name: 'acme-qtsa', is_qualified: true, qualification: 'qualified' as const };
const unasked = {
  ...acme,
  is_qualified: false,
  qualification: 'not_asked' as const,
  last_success_at: null,
  latency_ms: { p50: null, p95: null },
};

const out = { ...acme, status: 'outage' as const, latency_ms: { p50: 240, p95: 5_000 }, next_request_at: '2026-11-21T11:46:31Z' };

const operational: StatusFigures = {
  status: {
    status: 'operational',
    version: '0.3.0',
    time: '2026-11-21T11:46:07Z',
    uptime_seconds: 273_911,
    provider: mock,
    providers: [mock],
    mail: { status: 'ok' },
    queue: { depth: 0, oldest_job_age_seconds: null, durability: 'every_write', failed_jobs: 0 },
    evidence: { last_run_at: '2026-11-21T03:00:00Z', due: 0, lapsed: 0, unknown: 0 },
    counters: { last_24h: counters, lifetime: { ...counters, stamps: 1_204_881, failed: 4_017, verifications: 2_771_004 } },
  },
  components: [
    { name: 'Stamping', status: 'operational', note: '' },
    { name: 'Store', status: 'operational', note: '' },
    { name: 'Workers', status: 'operational', note: '' },
  ],
  days: Array.from({ length: 28 }, (_, i) => ({
    date: new Date(Date.UTC(2026, 10, 21 - i)).toISOString().slice(0, 10),
    stamps: 20_000 + Math.round(18_000 * Math.sin(i) ** 2),
    failed: i === 6 ? 5_200 : 0,
  })),
};

export const statusSamples = {
  operational,
  degraded: {
    ...operational,
    status: {
      ...operational.status,
      status: 'degraded',
      provider: out,
      providers: [
        out,
        {
          ...unasked,
          name: 'second-tsa',
          qualification: 'not_qualified',
          rate: { requests: 20, per_seconds: 1_200, left: 7 },
        },
      ],
      queue: { depth: 1, oldest_job_age_seconds: 65, durability: 'every_second', failed_jobs: 3 },
    },
    components: [
      { name: 'Workers', status: 'degraded', note: 'One of two answers' },
      { name: 'Mail', status: 'not_configured', note: 'No mail can be sent.' },
    ],
    days: [],
  },
  fresh: {
    ...operational,
    status: {
      ...operational.status,
      provider: unasked,
      providers: [unasked],
    },
    days: [],
  },
} satisfies Record<string, StatusFigures>;

export const startSample: PageModels['start'] = {
  version: '0.3.0',
  baseUrl: 'https://stamps.example',
  provider: mock,
};
