import type { startPageOf } from '../../src/api/status/site-pages.ts';
import type { StatusFigures } from '../../src/api/status/status.ts';
import { qualifiedBriefOf } from '../../src/shared/contract/stamp.ts';
import type { Qualification } from '../../src/shared/domain/qualification.ts';

/** Models of the status page and of the start page, like those of the service. */

const counters = {
  ...{ stamps: 48_213, failed: 12, verifications: 90_125 },
  ...{ workflows_started: 310, workflows_completed: 287, evidence_renewed: 3_120 },
};
const startedAt = '2026-11-18T07:41:00Z';
const brokeAt = '2026-11-21T11:31:40Z';

const qualifiedBy = (basis: Qualification['basis'], reason: Qualification['reason'] = null) => ({
  is_qualified: reason === null,
  qualification: reason ? ('not_qualified' as const) : ('qualified' as const),
  qualified: qualifiedBriefOf({ isQualified: reason === null, qualification: { basis, reason } }),
});
const mock = {
  ...qualifiedBy(null, 'mock_provider'),
  ...{ name: 'mock', status: 'operational' as const, next_request_at: null },
  ...{ last_success_at: '2026-11-21T11:46:05Z', latency_ms: { p50: 2, p95: 9 } },
};
const acme = { ...mock, ...qualifiedBy('list'), name: 'acme-qtsa' };
const never = { is_qualified: false, qualified: null, last_success_at: null, latency_ms: { p50: null, p95: null } };
const unasked = { ...acme, ...never, qualification: 'not_asked' as const };
const out = { ...acme, status: 'outage' as const, latency_ms: { p50: 240, p95: 5_000 }, next_request_at: '2026-11-21T11:46:31Z' };

type List = NonNullable<StatusFigures['status']['trusted_lists']>[number];
const list = (territory: string, changed: Partial<List> = {}): List => ({
  ...{ territory, state: 'current', sequence_number: 61, checked_at: '2026-11-21T06:00:04.120Z', reason: null },
  ...{ issued_at: '2026-10-02T13:59:56.000Z', next_update: '2027-04-02T14:59:56.000Z' },
  sha256: '827e93bdaab2029308c54e2a933eebfc19599633502fe30304cf93512a65b95f',
  ...changed,
});
const nothing = { sequence_number: null, issued_at: null, next_update: null, sha256: null };

type Part = StatusFigures['components'][number];
const partsWith = (changed: Readonly<Partial<Record<Part['name'], Partial<Part>>>> = {}): readonly Part[] =>
  (['Stamping', 'Verification', 'Store', 'Queue', 'Workers', 'Mail'] as const).map((name) => ({
    ...{ name, status: 'operational', note: '', since: startedAt },
    ...changed[name],
  }));

const operational: StatusFigures = {
  status: {
    ...{ status: 'operational', version: '0.3.0', time: '2026-11-21T11:46:07Z', uptime_seconds: 273_911 },
    ...{ provider: mock, providers: [mock], mail: { status: 'ok' }, trusted_lists: [] },
    queue: { depth: 0, oldest_job_age_seconds: null, durability: 'every_write', survives: 'crash', failed_jobs: 0 },
    evidence: { last_run_at: '2026-11-21T03:00:00Z', due: 0, lapsed: 0, unknown: 0 },
    counters: { last_24h: counters, lifetime: { ...counters, stamps: 1_204_881, failed: 4_017, verifications: 2_771_004 } },
  },
  since: startedAt,
  components: partsWith(),
  days: Array.from({ length: 28 }, (_, i) => ({
    date: new Date(Date.UTC(2026, 10, 21 - i)).toISOString().slice(0, 10),
    stamps: 20_000 + Math.round(18_000 * Math.sin(i) ** 2),
    failed: i === 6 ? 5_200 : 0,
  })),
};
const statusWith = (
  status: Partial<StatusFigures['status']>,
  components: StatusFigures['components'],
  rest: Partial<StatusFigures> = {},
) => ({
  ...operational,
  ...{ status: { ...operational.status, ...status }, components, ...rest },
});

export const statusSamples = {
  operational,
  degraded: statusWith(
    {
      ...{ status: 'degraded', provider: out },
      providers: [
        out,
        { ...acme, ...qualifiedBy('operator'), name: 'claimed-tsa' },
        { ...acme, ...qualifiedBy('list', 'service_withdrawn'), name: 'withdrawn-tsa' },
        { ...unasked, name: 'second-tsa', qualification: 'not_qualified', rate: { requests: 20, per_seconds: 1_200, left: 7 } },
      ],
      trusted_lists: [
        list('BE', { state: 'due_soon', next_update: '2026-11-25T00:00:00.000Z' }),
        list('EL', {
          state: 'expired',
          next_update: '2026-11-01T00:00:00.000Z',
          reason: 'list_unreachable: The list could not be fetched.',
        }),
        list('FR', {
          ...nothing,
          state: 'missing',
          reason: 'list_wrong_signer: The list is not signed with a certificate that was named for it.',
        }),
        list('SE'),
        list('UK', { state: 'closed', next_update: null }),
      ],
      queue: { depth: 1, oldest_job_age_seconds: 65, durability: 'every_second', survives: 'nothing', failed_jobs: 3 },
    },
    partsWith({
      Stamping: { status: 'degraded', note: 'Some providers make no stamps.', since: brokeAt },
      Mail: { status: 'not_configured', note: 'No mail can be sent, so workflows of the tiers verified and qualified cannot start.' },
    }),
    { since: brokeAt, days: [] },
  ),
  fresh: statusWith(
    { provider: unasked, providers: [unasked] },
    partsWith({ Mail: { status: 'unasked', note: 'No mail was sent yet.' } }),
    { days: [] },
  ),
  outage: statusWith(
    {
      ...{ status: 'outage', provider: { ...mock, status: 'outage' }, providers: [{ ...mock, status: 'outage' }] },
      queue: { depth: null, oldest_job_age_seconds: null, durability: 'unknown', survives: 'unknown', failed_jobs: null },
    },
    partsWith({
      Stamping: { status: 'outage', note: 'The queue does not answer.', since: brokeAt },
      Workers: { status: 'outage', note: 'No worker reports.', since: brokeAt },
      Mail: { status: 'degraded', note: 'The mail server did not accept the last mail. The service tries again.', since: brokeAt },
    }),
    { since: brokeAt },
  ),
} satisfies Record<string, StatusFigures>;

export const startSample: Parameters<typeof startPageOf> = ['https://stamps.example', mock];
