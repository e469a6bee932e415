import { createHash } from 'node:crypto';
import type { OutputRow, PageModels, StampMark, StatusPage, VerifyUserPage, WorkflowPage } from '../../src/api/pages/models.ts';

/** Models as the service would make them, for the tests of the pages. */

export const contentOf = (number: number): Buffer => Buffer.from(`output number ${number}\n`);
export const sha256Of = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

const workflowId = '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10';
const types = ['layout', 'image', 'text', 'code', 'audio', 'video', 'application.x-step+zip'];
const tokenIdOf = (number: number): string => `01995f3b-0000-7000-8000-${String(number).padStart(12, '0')}`;

const mark = (number: number, isQualified: boolean): StampMark => ({
  tokenId: tokenIdOf(number),
  stampedAt: new Date(Date.UTC(2026, 10, 21, 9, 30, 0) + number * 61_000).toISOString().replace('.000Z', 'Z'),
  provider: isQualified ? 'acme-qtsa' : 'mock',
  isQualified,
  verifyUrl: `/api/v1/verify/v1/token/${tokenIdOf(number)}`,
});

const row = (number: number, isQualified: boolean): OutputRow => ({
  ...mark(number, isQualified),
  sequenceNumber: number,
  type: types[number % types.length]!,
  hash: sha256Of(contentOf(number)),
});

/** One page of a workflow with `total` outputs. */
export function outputsPage(total: number, { page = 1, pageSize = 100, isQualified = (_: number): boolean => false } = {}) {
  const numbers = Array.from({ length: total }, (_, i) => i + 1);
  return {
    rows: numbers.slice((page - 1) * pageSize, page * pageSize).map((number) => row(number, isQualified(number))),
    total,
    unqualifiedTotal: numbers.filter((number) => !isQualified(number)).length,
    page,
    pageSize,
  };
}

const completed: WorkflowPage = {
  workflowId,
  address: `https://stamps.example/workflow/${workflowId}`,
  status: 'completed',
  isClosing: false,
  tier: 'verified',
  startedAt: '2026-11-21T09:12:44Z',
  expiresAt: '2026-11-28T09:12:44Z',
  completedAt: '2026-11-21T10:02:31Z',
  maskedEmail: 'j•••@example.com',
  emailVerifiedAt: '2026-11-21T09:14:02Z',
  briefingHash: sha256Of('briefing'),
  outputs: outputsPage(12),
  anchor: { rootHash: sha256Of('root'), stamp: { ...mark(99, false), stampedAt: '2026-11-21T10:02:30.482Z' } },
  evidence: { jsonUrl: `/workflow/${workflowId}/evidence.json`, zipUrl: `/workflow/${workflowId}/evidence.zip` },
  find: null,
  shownAt: '2026-11-21T11:46:07Z',
};

const qualified = () => true;

export const workflowSamples = {
  completed,
  qualified: {
    ...completed,
    tier: 'qualified',
    outputs: outputsPage(7, { isQualified: qualified }),
    anchor: { rootHash: sha256Of('root'), stamp: mark(99, true) },
  },
  mixed: {
    ...completed,
    outputs: outputsPage(5, { isQualified: (number) => number !== 3 }),
    anchor: { rootHash: sha256Of('root'), stamp: mark(99, true) },
  },
  pending: {
    ...completed,
    status: 'pending',
    tier: 'standard',
    completedAt: null,
    emailVerifiedAt: null,
    anchor: null,
    evidence: null,
    outputs: outputsPage(3),
  },
  empty: { ...completed, status: 'active', completedAt: null, anchor: null, evidence: null, outputs: outputsPage(0) },
  closing: { ...completed, status: 'active', isClosing: true, completedAt: null, anchor: null, evidence: null },
  expired: {
    ...completed,
    status: 'expired',
    completedAt: null,
    anchor: null,
    evidence: null,
    emailVerifiedAt: null,
    maskedEmail: null,
    outputs: outputsPage(2),
  },
  long: { ...completed, outputs: outputsPage(250, { page: 2, pageSize: 20 }) },
  found: { ...completed, find: { hash: sha256Of(contentOf(4)), sequenceNumbers: [4] } },
  notFound: { ...completed, find: { hash: sha256Of('other'), sequenceNumbers: [] } },
} satisfies Record<string, WorkflowPage>;

const verifyUser = (outcome: VerifyUserPage['outcome']): VerifyUserPage => ({
  outcome,
  workflowId,
  workflowUrl: `/workflow/${workflowId}`,
});

export const verifyUserSamples = [
  verifyUser({ kind: 'verified' }),
  verifyUser({ kind: 'wrong', triesLeft: 3 }),
  verifyUser({ kind: 'wrong', triesLeft: 0 }),
  verifyUser({ kind: 'challenge_expired' }),
  verifyUser({ kind: 'challenge_used' }),
  verifyUser({ kind: 'challenge_exhausted' }),
  verifyUser({ kind: 'workflow_expired' }),
  verifyUser({ kind: 'workflow_closed' }),
  verifyUser({ kind: 'email_redacted' }),
] as const;

const counters = { stamps: 48_213, failed: 12, verifications: 90_125, workflows_started: 310, workflows_completed: 287 };
const mock = {
  name: 'mock',
  is_qualified: false,
  status: 'operational' as const,
  last_success_at: '2026-11-21T11:46:05Z',
  latency_ms: { p50: 2, p95: 9 },
};

const operational: StatusPage = {
  status: {
    status: 'operational',
    version: '0.2.0',
    time: '2026-11-21T11:46:07Z',
    uptime_seconds: 273_911,
    provider: mock,
    providers: [mock],
    queue: { depth: 0, oldest_job_age_seconds: null },
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
      provider: { ...mock, name: 'acme-qtsa', is_qualified: true, status: 'outage', latency_ms: { p50: 240, p95: 5_000 } },
      providers: [
        { ...mock, name: 'acme-qtsa', is_qualified: true, status: 'outage', latency_ms: { p50: 240, p95: 5_000 } },
        { ...mock, name: 'second-tsa', last_success_at: null, latency_ms: { p50: null, p95: null } },
      ],
      queue: { depth: 1, oldest_job_age_seconds: 65 },
    },
    components: [{ name: 'Workers', status: 'degraded', note: 'One of two answers' }],
    days: [],
  },
} satisfies Record<string, StatusPage>;

export const startSample: PageModels['start'] = {
  version: '0.2.0',
  baseUrl: 'https://stamps.example',
  provider: { name: 'mock', isQualified: false },
};
