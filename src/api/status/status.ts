import type { DailyStatsRow, ProviderStatus, StatusCounters, StatusResponse, TrustedListStatus } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import { answerWithin } from '../../shared/runtime/timers.ts';
import type { ActivityTotals, DailyFigures } from '../../shared/store/counters.ts';
import type { EvidenceState } from '../../shared/store/evidence-terms.ts';
import type { Store } from '../../shared/store/store.ts';
import type { ListInForce } from '../../shared/store/trusted-lists.ts';
import { usesTrustedLists } from '../../shared/trust/list-sources.ts';
import { LIST_FAULTS, stateOf } from '../../shared/trust/lists/index.ts';
import { namesOf } from '../../shared/trust/trusted-providers.ts';
import type { ApiTools } from '../tools.ts';
import { assess, type ComponentState, mailStateOf, type PartState, qualificationStateOf } from './service-state.ts';

/** The public state of the service. It contains no caller, id, host or path. */
export interface StatusFigures {
  readonly status: StatusResponse;
  /** When this process first saw the present state of the service (RFC 3339). It knows nothing of the time before its start. */
  readonly since: string;
  /** Parts of the service, without the single providers, each with the time when this process first saw its present state. */
  readonly components: readonly (ComponentState & { readonly since: string })[];
  /** The last 30 days, in any order; days without traffic are left out. */
  readonly days: readonly DayFigures[];
}

export interface StatusService {
  /** Returns the figures, which are at most `maxAgeMs` old. They are read only once in this time, even if many requests come. */
  read(): Promise<StatusFigures>;
}

/** The maximum age of the figures. */
const maxAgeMs = 2_000;
/** How long a part may take to answer before it counts as down. */
const partTimeoutMs = 1_500;
const shownDays = 30;

const listStatusOf = ({ territory, list, checkedAt, refusal }: ListInForce, now: number): TrustedListStatus => ({
  territory,
  state: list ? stateOf(list.nextUpdate, now) : 'missing',
  sequence_number: list?.sequenceNumber ?? null,
  issued_at: list?.issuedAt ?? null,
  next_update: list?.nextUpdate ?? null,
  sha256: list?.sha256 ?? null,
  checked_at: checkedAt.toISOString(),
  reason: refusal && `${refusal.code}: ${LIST_FAULTS[refusal.code]}`,
});

const countersOf = (totals: ActivityTotals | undefined): StatusCounters => ({
  stamps: totals?.stamps ?? null,
  failed: totals?.failed ?? null,
  verifications: totals?.verifications ?? null,
  workflows_started: totals?.workflowsStarted ?? null,
  workflows_completed: totals?.workflowsCompleted ?? null,
  evidence_renewed: totals?.renewed ?? null,
});

export function createStatusService(tools: ApiTools): StatusService {
  const { config, store, trust, writes, queueWatch, readHeartbeats, readDurability, clock } = tools;
  const startedAt = performance.now();
  const sinceOf = createChangeMemory();
  /** The configured providers, most preferred first, until a worker reports. */
  let known: readonly ProviderStatus[] = namesOf(trust).map(({ name, isQualified }) => ({
    name,
    is_qualified: false,
    qualification: qualificationStateOf(isQualified, null),
    qualified: null,
    status: 'outage',
    last_success_at: null,
    latency_ms: { p50: null, p95: null },
    next_request_at: null,
  }));
  let totals: Awaited<ReturnType<Store['counters']['totals']>> | undefined;
  let days: readonly DayFigures[] = [];
  let evidence: EvidenceState | undefined;
  let lists: readonly ListInForce[] = [];

  async function readStore(now: number): Promise<true> {
    const [freshTotals, rows, state, inForce] = await Promise.all([
      store.counters.totals(now),
      store.counters.daily(shownDays, now),
      store.evidenceTerms.readState(),
      usesTrustedLists(config) ? store.trustedLists.readInForce() : [],
    ]);
    lists = inForce;
    totals = freshTotals;
    evidence = state;
    days = [...Map.groupBy(rows, ({ date }) => date)].map(([date, ofDay]) => ({
      date,
      stamps: ofDay.reduce((sum, row) => sum + row.stamps, 0),
      failed: ofDay.reduce((sum, row) => sum + row.failed, 0),
    }));
    return true;
  }

  async function take(): Promise<StatusFigures> {
    const now = clock();
    const [isStoreUp, heartbeats, queue, durability = 'unknown'] = await Promise.all([
      answerWithin(partTimeoutMs, () => readStore(now)),
      answerWithin(partTimeoutMs, () => readHeartbeats(now)),
      answerWithin(partTimeoutMs, queueWatch.read),
      answerWithin(partTimeoutMs, readDurability),
    ]);
    const oldestAgeMs = queue && queue.oldestAt !== null ? Math.max(0, now - queue.oldestAt) : null;
    const mail = mailStateOf(heartbeats);
    const assessment = assess({
      isStoreUp: isStoreUp ?? false,
      refusing: writes.refusing(),
      workers: heartbeats?.map((heartbeat) => heartbeat.providers),
      queue: queue && { oldestAgeMs },
      mail,
      known,
      stampWaitMs: config.STAMP_WAIT_MS,
    });
    const { providers, components } = assessment;
    known = providers;
    const [preferred] = providers;
    if (!preferred) throw new Error('a service must have at least one provider');
    const status: StatusResponse = {
      status: assessment.status,
      version,
      time: new Date(now).toISOString(),
      uptime_seconds: Math.floor((performance.now() - startedAt) / 1000),
      provider: preferred,
      providers: [...providers],
      mail: { status: mail },
      queue: {
        depth: queue?.waiting ?? null,
        oldest_job_age_seconds: oldestAgeMs === null ? null : Math.round(oldestAgeMs / 100) / 10,
        durability,
        failed_jobs: queue?.failedJobs ?? null,
      },
      evidence: {
        last_run_at: evidence?.lastRunAt.toISOString() ?? null,
        due: evidence?.due ?? null,
        lapsed: evidence?.lapsed ?? null,
        unknown: evidence === undefined ? null : (evidence.unknown ?? 0),
      },
      trusted_lists: lists.map((list) => listStatusOf(list, now)),
      counters: { last_24h: countersOf(totals?.last24h), lifetime: countersOf(totals?.lifetime) },
    };
    return {
      status,
      since: sinceOf('', status.status, status.time),
      components: components.map((part) => ({ ...part, since: sinceOf(part.name, part.status, status.time) })),
      days,
    };
  }

  let taken: { readonly at: number; readonly figures: Promise<StatusFigures> } | undefined;
  return {
    read: () => {
      const now = performance.now();
      if (!taken || now - taken.at >= maxAgeMs) taken = { at: now, figures: take() };
      return taken.figures;
    },
  };
}

/** Remembers the last state of each part, and returns the time when it began. An empty name is the whole service. */
function createChangeMemory(): (name: string, state: PartState, now: string) => string {
  const last = new Map<string, { readonly state: PartState; readonly since: string }>();
  return (name, state, now) => {
    const known = last.get(name);
    if (known?.state === state) return known.since;
    last.set(name, { state, since: now });
    return now;
  };
}

/**
 * The bars of the last `length` days up to the day of `time` (RFC 3339, UTC), oldest first. A missing day counts as zero. `scale` is the number of
 * stamps at full height: the number of the busiest day, at least 1.
 */
export function dayBars(
  days: readonly DayFigures[],
  { time, length, width, height }: { time: string; length: number; width: number; height: number },
): { bars: DayBar[]; scale: number } {
  const figures = new Map(days.map((day) => [day.date, day]));
  const today = Date.parse(`${time.slice(0, 10)}T00:00:00Z`);
  const shown = Array.from({ length }, (_, i): DayFigures => {
    const date = new Date(today - (length - 1 - i) * dayMs).toISOString().slice(0, 10);
    return figures.get(date) ?? { date, stamps: 0, failed: 0 };
  });
  const scale = Math.max(1, ...shown.map(({ stamps, failed }) => stamps + failed));
  const step = width / length;
  const round = (value: number): number => Math.round(value * 100) / 100;
  const bars = shown.map((day, i): DayBar => {
    const stampedHeight = round((day.stamps / scale) * height);
    const failedHeight = round((day.failed / scale) * height);
    return {
      ...day,
      x: round(i * step + step * 0.15),
      width: round(step * 0.7),
      stamped: { y: round(height - stampedHeight), height: stampedHeight },
      rejected: { y: round(height - stampedHeight - failedHeight), height: failedHeight },
    };
  });
  return { bars, scale };
}

interface DayFigures {
  /** `2026-11-21`, in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
}

/** A bar of the chart, in the units of its view box. The part for failed stamps (`rejected`) is on top of the part for made stamps (`stamped`). */
export interface DayBar extends DayFigures {
  readonly x: number;
  readonly width: number;
  readonly stamped: { readonly y: number; readonly height: number };
  readonly rejected: { readonly y: number; readonly height: number };
}

const dayMs = 86_400_000;

const rowOf = ({ date, provider, isQualified, callerKind, stamps, failed, latencyMs }: DailyFigures): DailyStatsRow => ({
  date,
  provider,
  is_qualified: isQualified,
  caller_kind: callerKind,
  stamps,
  failed,
  latency_ms_p50: latencyMs.p50,
  latency_ms_p95: latencyMs.p95,
});

/** Returns the rows of the last `days` UTC days, today included, newest first. @throws ServiceError `store_unavailable` */
export const readDailyStatistics = async ({ store: { counters }, clock }: ApiTools, days: number): Promise<DailyStatsRow[]> =>
  (await counters.daily(days, clock())).map(rowOf);
