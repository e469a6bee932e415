import { qualifiedBriefOf } from '../../shared/contract/stamp.ts';
import type { DailyStatsRow, ProviderStatus, StatusCounters, StatusResponse, TrustedListStatus } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import { type ClockState, type MailState, type ServiceState, serviceStates, survivalOf } from '../../shared/domain/service-state.ts';
import type { Heartbeat, ProviderHealth } from '../../shared/redis/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/timers.ts';
import type { ActivityTotals } from '../../shared/store/counters.ts';
import type { ListInForce } from '../../shared/store/trusted-lists.ts';
import { usesTrustedLists } from '../../shared/trust/list-sources.ts';
import { LIST_FAULTS, stateOf } from '../../shared/trust/lists/index.ts';
import { namesOf } from '../../shared/trust/trusted-providers.ts';
import type { Refusing } from '../http/write-watch.ts';
import type { ApiTools } from '../tools.ts';

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

export interface DayFigures {
  /** `2026-11-21`, in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
}

const maxAgeMs = 2_000;
/** How long a part may take to answer before it counts as down. */
const partTimeoutMs = 1_500;
export const shownDays = 30;

/** Creates the function that reads the figures. They are at most two seconds old. */
export function createStatusReader(tools: ApiTools): () => Promise<StatusFigures> {
  const { config, jobs, trust, writes, queueWatch, readHeartbeats, readDurability, clock } = tools;
  const startedAt = performance.now();
  const sinceOf = createChangeMemory();
  /** The last known state of the providers. */
  let known: readonly ProviderStatus[] = namesOf(trust).map((provider) =>
    merge([{ ...provider, mayBeQualified: false, status: 'outage', lastSuccessAt: null, p50: null, p95: null }]),
  );
  /** The last figures of the store. */
  let stored: Partial<Awaited<ReturnType<typeof readStore>>> = {};

  return readAtMostEvery(maxAgeMs, async () => {
    const now = clock();
    const [isStoreUp = false, workers, queue, durability = 'unknown'] = await Promise.all([
      answerWithin(partTimeoutMs, async () => {
        stored = await readStore(tools, now);
        return true;
      }),
      answerWithin(partTimeoutMs, () => readHeartbeats(now)),
      answerWithin(partTimeoutMs, queueWatch.read),
      answerWithin(partTimeoutMs, readDurability),
    ]);
    const oldestAgeMs = queue && queue.oldestAt !== null ? Math.max(0, now - queue.oldestAt) : null;
    const { status, providers, components } = assess({
      ...{ isStoreUp, refusing: writes.refusing(), workers, known, stampWaitMs: config.STAMP_WAIT_MS },
      queue: queue && { oldestAgeMs },
    });
    known = providers;
    const { totals, evidence, lists = [], days = [] } = stored;
    const time = new Date(now).toISOString();
    return {
      status: {
        ...{ status, version, time, uptime_seconds: Math.floor((performance.now() - startedAt) / 1000) },
        ...{ provider: providers[0]!, providers: [...providers], mail: { status: mailStateOf(workers) } },
        queue: {
          depth: queue?.waiting ?? null,
          oldest_job_age_seconds: oldestAgeMs === null ? null : Math.round(oldestAgeMs / 100) / 10,
          durability,
          survives: survivalOf(durability, jobs.replicas()),
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
      },
      since: sinceOf('', status, time),
      components: components.map((part) => ({ ...part, since: sinceOf(part.name, part.status, time) })),
      days,
    };
  });
}

async function readStore({ config, store }: ApiTools, now: number) {
  const [totals, rows, evidence, lists] = await Promise.all([
    store.counters.totals(now),
    store.counters.daily(shownDays, now),
    store.evidenceTerms.readState(),
    usesTrustedLists(config) ? store.trustedLists.readInForce() : [],
  ]);
  const days = [...Map.groupBy(rows, ({ date }) => date)].map(([date, ofDay]) => ({
    date,
    stamps: ofDay.reduce((sum, row) => sum + row.stamps, 0),
    failed: ofDay.reduce((sum, row) => sum + row.failed, 0),
  }));
  return { totals, evidence, lists, days };
}

/** Makes a function that reads at most once in `ms` milliseconds, even if many requests come. */
export function readAtMostEvery<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const at = performance.now();
    if (!last || at - last.at >= ms) last = { at, answer: read() };
    return last.answer;
  };
}

/** Remembers the last state of each part, and returns the time when it began. An empty name is the whole service. */
function createChangeMemory(): (name: ComponentName | '', state: PartState, now: string) => string {
  const last = new Map<ComponentName | '', { readonly state: PartState; readonly since: string }>();
  return (name, state, now) => {
    const known = last.get(name);
    if (known?.state === state) return known.since;
    last.set(name, { state, since: now });
    return now;
  };
}

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

/** Returns the rows of the last `days` UTC days, today included, newest first. @throws ServiceError `store_unavailable` */
export const readDailyStatistics = async ({ store: { counters }, clock }: ApiTools, days: number): Promise<DailyStatsRow[]> =>
  (await counters.daily(days, clock())).map(({ date, provider, isQualified, callerKind, stamps, failed, latencyMs }) => ({
    ...{ date, provider, is_qualified: isQualified, caller_kind: callerKind, stamps, failed },
    ...{ latency_ms_p50: latencyMs.p50, latency_ms_p95: latencyMs.p95 },
  }));

/** The observed state of the service's parts at one moment. `workers` and `queue` are undefined if Redis did not answer. */
export interface ObservedParts {
  readonly isStoreUp: boolean;
  /** Servers that answer but accept no writes. */
  readonly refusing: Refusing;
  readonly workers: readonly Heartbeat[] | undefined;
  readonly queue: { readonly oldestAgeMs: number | null } | undefined;
  /** The last known state of the providers, used if no worker reports. */
  readonly known: readonly ProviderStatus[];
  /** How long a caller waits. If the oldest job is older than this, the queue is degraded. */
  readonly stampWaitMs: number;
}

/** `unasked`: nothing is known yet. `not_configured`: not used on purpose, so this is not a fault. */
export type PartState = ServiceState | 'unasked' | 'not_configured';

/** The names of the parts. The page shows all of them but `Providers`, which count for `Stamping`. */
export type ComponentName = 'Stamping' | 'Verification' | 'Store' | 'Queue' | 'Workers' | 'Providers' | 'Clock' | 'Mail';

/** A part of the service, with one of `partNotes` if there is something to report, and the values in it. */
interface ComponentState {
  readonly name: ComponentName;
  readonly status: PartState;
  readonly note: string;
  readonly values?: Readonly<Record<string, number>>;
}

/** What there is to report about a part. The page translates it. */
export const partNotes = {
  storeRefuses: 'The store accepts no writes.',
  storeSilent: 'The store does not answer.',
  queueRefuses: 'The queue accepts no writes.',
  queueSilent: 'The queue does not answer.',
  queueLate: 'Stamps take longer than callers wait.',
  noWorker: 'No worker reports.',
  providersFail: 'Some providers make no stamps.',
  notReadable: 'Stamps cannot be read at the moment.',
  mailFails: 'The mail server did not accept the last mail. The service tries again.',
  noMailYet: 'No mail was sent yet.',
  noMailServer: 'No mail can be sent, so workflows of the tiers verified and qualified cannot start.',
  clockUnchecked: 'The clock is not checked against others.',
  clockUnknown: 'Nothing confirms the clock. The service issues no stamps by it.',
  clockOff: 'The clock is off by {ms} ms. The service issues no stamps by it.',
};

/** Derives the state of the service from the state of its parts. */
export function assess({ isStoreUp, refusing, workers = [], queue, known, stampWaitMs }: ObservedParts) {
  const views = workers.flatMap((worker) => worker.providers);
  const providers: readonly ProviderStatus[] =
    workers.length === 0
      ? known.map((provider) => ({ ...provider, status: 'outage' }))
      : [...Map.groupBy(views, ({ name }) => name).values()].map(merge);
  const store = isStoreUp ? partNotes.storeRefuses : partNotes.storeSilent;
  const isLate = (queue?.oldestAgeMs ?? 0) > stampWaitMs;
  const isQueueUp = queue !== undefined && !refusing.redis;
  const queueFault = queue ? partNotes.queueRefuses : partNotes.queueSilent;
  const parts = [
    part('Store', isStoreUp && !refusing.mongodb ? 'operational' : 'outage', store),
    part('Queue', isQueueUp ? (isLate ? 'degraded' : 'operational') : 'outage', isQueueUp ? partNotes.queueLate : queueFault),
    part('Workers', workers.length > 0 ? 'operational' : 'outage', partNotes.noWorker),
  ];
  const making = part('Providers', together(providers.map(({ status }) => status)), partNotes.providersFail);
  const stamping = worst([...parts, making]);
  const mail = part('Mail', ...mailParts[mailStateOf(workers)]);
  return {
    status: worst([stamping, mail]).status as ServiceState,
    providers,
    components: [
      { ...stamping, name: 'Stamping' },
      part('Verification', isStoreUp ? 'operational' : 'outage', partNotes.notReadable),
      ...parts,
      ...clockParts(views),
      mail,
    ] satisfies ComponentState[],
  };
}

const part = (name: ComponentName, status: PartState, note: string): ComponentState => ({
  name,
  status,
  note: status === 'operational' ? '' : note,
});

/** The first part with the worst state. States that are no fault count as operational. */
function worst(parts: readonly ComponentState[]): ComponentState {
  const state = serviceStates.findLast((each) => parts.some(({ status }) => status === each)) ?? 'operational';
  return parts.find(({ status }) => status === state)!;
}

/** One that works is enough to stamp, so faults of others only degrade the whole. */
function together(states: readonly ServiceState[]): ServiceState {
  if (states.every((state) => state === 'outage')) return 'outage';
  return states.every((state) => state === 'operational') ? 'operational' : 'degraded';
}

const mailParts: Readonly<Record<MailState, readonly [status: PartState, note: string]>> = {
  ok: ['operational', ''],
  failing: ['degraded', partNotes.mailFails],
  unknown: ['unasked', partNotes.noMailYet],
  not_configured: ['not_configured', partNotes.noMailServer],
};

/**
 * Merges the reports of several workers about one provider. The slowest latency counts, and the fewest requests that are left: the other workers have
 * not read the latest number yet. A worker that has seen no token yet only repeats the configuration, so the others know better whether the provider
 * is qualified. It counts as qualified only after one of its tokens was verified (V9).
 */
function merge(views: readonly ProviderHealth[]): ProviderStatus {
  const judged = views.find((view) => view.qualification);
  const { name, isQualified } = judged ?? views[0]!;
  const lastSuccessAt = latest(views.map((view) => view.lastSuccessAt));
  const qualification = !isQualified ? 'not_qualified' : lastSuccessAt === null ? 'not_asked' : 'qualified';
  const [rate] = views.flatMap((view) => view.rate ?? []).sort((a, b) => a.left - b.left);
  const clock = worstClockOf(views);
  return {
    name,
    is_qualified: qualification === 'qualified',
    qualification,
    qualified: judged ? qualifiedBriefOf(judged) : null,
    status: together(views.map(({ status }) => status)),
    last_success_at: lastSuccessAt,
    latency_ms: { p50: highest(views.map(({ p50 }) => p50)), p95: highest(views.map(({ p95 }) => p95)) },
    ...(rate && { rate: { requests: rate.requests, per_seconds: rate.perSeconds, left: rate.left } }),
    next_request_at: latest(views.map(({ nextRequestAt }) => nextRequestAt ?? null)),
    ...(clock && { clock: { status: clock.state, drift_ms: clock.driftMs && Math.round(clock.driftMs) } }),
  };
}

const latest = (times: readonly (string | null)[]): string | null =>
  times.reduce((last, at) => (at && (!last || at > last) ? at : last), null);

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/**
 * The part `Clock`: the state of the clocks for the service's own signing keys. It does not change the state of the service, because the state of
 * their providers already shows whether they stamp.
 */
function clockParts(views: readonly ProviderHealth[]): ComponentState[] {
  const clock = worstClockOf(views);
  if (!clock) return [];
  const { state, driftMs } = clock;
  if (state === 'unchecked') return [part('Clock', 'not_configured', partNotes.clockUnchecked)];
  if (state === 'unknown') return [part('Clock', 'outage', partNotes.clockUnknown)];
  const values = { ms: Math.round(Math.abs(driftMs ?? 0)) };
  return [{ ...part('Clock', state === 'off' ? 'outage' : 'operational', partNotes.clockOff), values }];
}

const worstFirst: readonly ClockState[] = ['off', 'unknown', 'unchecked', 'ok'];

/** The worst state that workers report for the clocks of the service's own signing keys; undefined if there is no such key. */
export function worstClockOf(views: readonly ProviderHealth[]): { state: ClockState; driftMs: number | null } | undefined {
  const clocks = views.flatMap(({ clock }) => clock ?? []);
  const state = worstFirst.find((each) => clocks.some((clock) => clock.state === each));
  if (state === undefined) return undefined;
  const drifts = clocks.flatMap(({ driftMs }) => driftMs ?? []).sort((a, b) => Math.abs(b) - Math.abs(a));
  return { state, driftMs: drifts[0] ?? null };
}

/**
 * The first of these states that any worker reports is the state of all: one worker that cannot send is a fault; otherwise one worker that can send
 * is enough.
 */
const byWeight = ['failing', 'ok', 'unknown', 'not_configured'] as const satisfies readonly MailState[];

/** Combines the mail states of several workers. `workers` is undefined if Redis did not answer. */
export const mailStateOf = (workers: readonly Heartbeat[] | undefined): MailState =>
  byWeight.find((state) => workers?.some(({ mail }) => mail === state)) ?? 'unknown';

/** Whether mails can be sent. Only a missing mail server means that none can (W19): a mail that fails is retried for an hour (W12). */
export const canSendMail = async ({ readHeartbeats, clock }: ApiTools): Promise<boolean> =>
  mailStateOf(await answerWithin(1_000, () => readHeartbeats(clock()))) !== 'not_configured';
