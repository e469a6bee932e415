import type { PageModels } from '../../src/api/server/views.ts';
import type { StatusFigures } from '../../src/api/status/status.ts';
import { qualifiedBriefOf } from '../../src/shared/contract/stamp.ts';
import type { ProviderStatus } from '../../src/shared/contract/status.ts';
import type { Qualification } from '../../src/shared/domain/qualification.ts';

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
  qualified: { status: 'not_qualified', basis: null, reason: 'mock_provider: The mock provider made it.' } as ProviderStatus['qualified'],
  status: 'operational' as const,
  last_success_at: '2026-11-21T11:46:05Z',
  latency_ms: { p50: 2, p95: 9 },
  next_request_at: null,
};

const saying = (basis: Qualification['basis'], reason: Qualification['reason'] = null) => ({
  is_qualified: reason === null,
  qualification: reason ? ('not_qualified' as const) : ('qualified' as const),
  qualified: qualifiedBriefOf({ isQualified: reason === null, qualification: { basis, reason } }),
});
const acme = { ...mock, name: 'acme-qtsa', ...saying('list') };
const unasked = {
  ...acme,
  is_qualified: false,
  qualification: 'not_asked' as const,
  qualified: null,
  last_success_at: null,
  latency_ms: { p50: null, p95: null },
};

const out = { ...acme, status: 'outage' as const, latency_ms: { p50: 240, p95: 5_000 }, next_request_at: '2026-11-21T11:46:31Z' };

const startedAt = '2026-11-18T07:41:00Z';

const list = {
  territory: 'SE',
  state: 'current' as const,
  sequence_number: 61,
  issued_at: '2026-10-02T13:59:56.000Z',
  next_update: '2027-04-02T14:59:56.000Z',
  sha256: '827e93bdaab2029308c54e2a933eebfc19599633502fe30304cf93512a65b95f',
  checked_at: '2026-11-21T06:00:04.120Z',
  reason: null,
};
const lists: StatusFigures['status']['trusted_lists'] = [
  { ...list, territory: 'BE', state: 'due_soon', sequence_number: 82, next_update: '2026-11-25T00:00:00.000Z' },
  {
    ...list,
    territory: 'EL',
    state: 'expired',
    next_update: '2026-11-01T00:00:00.000Z',
    reason: 'list_unreachable: The list could not be fetched.',
  },
  { ...list, territory: 'EU', sequence_number: 402 },
  {
    ...list,
    territory: 'FR',
    state: 'missing',
    sequence_number: null,
    issued_at: null,
    next_update: null,
    sha256: null,
    reason: 'list_wrong_signer: The list is not signed with a certificate that was named for it.',
  },
  list,
  { ...list, territory: 'UK', state: 'closed', sequence_number: 25, next_update: null },
];

type Part = StatusFigures['components'][number];
const partsWell: readonly Part[] = ['Stamping', 'Verification', 'Store', 'Queue', 'Workers', 'Mail'].map((name) => ({
  name,
  status: 'operational',
  note: '',
  since: startedAt,
}));
const partsWith = (changed: Readonly<Record<string, Partial<Part>>>): readonly Part[] =>
  partsWell.map((part) => ({ ...part, ...changed[part.name] }));

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
    trusted_lists: [],
    counters: { last_24h: counters, lifetime: { ...counters, stamps: 1_204_881, failed: 4_017, verifications: 2_771_004 } },
  },
  since: startedAt,
  components: partsWell,
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
        { ...acme, name: 'claimed-tsa', ...saying('operator') },
        { ...acme, name: 'withdrawn-tsa', ...saying('list', 'service_withdrawn') },
        { ...acme, name: 'unlisted-tsa', ...saying(null, 'service_not_listed') },
        { ...acme, name: 'late-list-tsa', ...saying('list', 'list_expired') },
        {
          ...unasked,
          name: 'second-tsa',
          qualification: 'not_qualified',
          rate: { requests: 20, per_seconds: 1_200, left: 7 },
        },
      ],
      trusted_lists: lists,
      queue: { depth: 1, oldest_job_age_seconds: 65, durability: 'every_second', failed_jobs: 3 },
    },
    since: '2026-11-21T11:31:40Z',
    components: partsWith({
      Stamping: { status: 'degraded', note: 'Some providers make no stamps.', since: '2026-11-21T11:31:40Z' },
      Mail: { status: 'not_configured', note: 'No mail can be sent, so workflows of the tiers verified and qualified cannot start.' },
    }),
    days: [],
  },
  fresh: {
    ...operational,
    status: {
      ...operational.status,
      provider: unasked,
      providers: [unasked],
    },
    components: partsWith({ Mail: { status: 'unasked', note: 'No mail was sent yet.' } }),
    days: [],
  },
  outage: {
    ...operational,
    status: {
      ...operational.status,
      status: 'outage',
      provider: { ...mock, status: 'outage' },
      providers: [{ ...mock, status: 'outage' }],
      queue: { depth: null, oldest_job_age_seconds: null, durability: 'unknown', failed_jobs: null },
    },
    since: '2026-11-21T11:31:40Z',
    components: partsWith(
      Object.fromEntries(
        [
          ['Stamping', 'outage', 'The queue does not answer.'] as const,
          ['Queue', 'outage', 'The queue does not answer.'] as const,
          ['Workers', 'outage', 'No worker reports.'] as const,
          ['Mail', 'degraded', 'The mail server did not accept the last mail. The service tries again.'] as const,
        ].map(([name, status, note]) => [name, { status, note, since: '2026-11-21T11:31:40Z' }]),
      ),
    ),
  },
} satisfies Record<string, StatusFigures>;

export const startSample: PageModels['start'] = {
  version: '0.3.0',
  baseUrl: 'https://stamps.example',
  provider: mock,
};
