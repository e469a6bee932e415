import { qualifiedBriefOf } from '../../shared/contract/stamp.ts';
import type { ProviderStatus } from '../../shared/contract/status.ts';
import {
  type ClockState,
  type MailState,
  type QualificationState,
  type ServiceState,
  serviceStates,
} from '../../shared/domain/service-state.ts';
import type { Heartbeat, ProviderHealth } from '../../shared/redis/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/timers.ts';
import type { Refusing } from '../http/write-watch.ts';
import type { ApiTools } from '../tools.ts';

/** The observed state of the service's parts at one moment. `workers` and `queue` are undefined if Redis did not answer. */
export interface Sighting {
  readonly isStoreUp: boolean;
  /** Servers that answer but accept no writes. */
  readonly refusing: Refusing;
  /** For each worker that reports: the state of its providers, most preferred first. */
  readonly workers: readonly (readonly ProviderHealth[])[] | undefined;
  readonly queue: { readonly oldestAgeMs: number | null } | undefined;
  readonly mail: MailState;
  /** The last known state of the providers, used if no worker reports. */
  readonly known: readonly ProviderStatus[];
  /** How long a caller waits. If the oldest job is older than this, the queue is degraded. */
  readonly stampWaitMs: number;
}

/** `unasked`: nothing is known yet. `not_configured`: not used on purpose, so this is not a fault. */
export type PartState = ServiceState | 'unasked' | 'not_configured';

/** A part of the service, with a sentence if there is something to report. */
export interface ComponentState {
  readonly name: string;
  readonly status: PartState;
  readonly note: string;
}

interface Assessment {
  readonly status: ServiceState;
  readonly providers: readonly ProviderStatus[];
  readonly components: readonly ComponentState[];
}

const worst = (states: readonly PartState[]): ServiceState => serviceStates.findLast((state) => states.includes(state)) ?? 'operational';

const highest = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
};

const mailParts: Readonly<Record<MailState, readonly [status: PartState, note: string]>> = {
  ok: ['operational', ''],
  failing: ['degraded', 'The mail server did not accept the last mail. The service tries again.'],
  unknown: ['unasked', 'No mail was sent yet.'],
  not_configured: ['not_configured', 'No mail can be sent, so workflows of the tiers verified and qualified cannot start.'],
};

/** A provider counts as qualified only after one of its tokens was verified (V9). */
export function qualificationStateOf(isQualified: boolean, lastSuccessAt: string | null): QualificationState {
  if (!isQualified) return 'not_qualified';
  return lastSuccessAt === null ? 'not_asked' : 'qualified';
}

/**
 * Merges the reports of several workers about one provider. The state is `outage` or `operational` only if all workers report this state; otherwise
 * `degraded`. The slowest latency counts. A worker that has seen no token yet only repeats the configuration, so the others know better whether the
 * provider is qualified.
 */
function merge(views: readonly ProviderHealth[], first: ProviderHealth): ProviderStatus {
  const judged = views.find((view) => view.qualification);
  const { name, isQualified } = judged ?? first;
  const states = views.map(({ status }) => status);
  const isEverywhere = (state: ServiceState) => states.every((each) => each === state);
  const lastSuccessAt = views.reduce<string | null>((last, { lastSuccessAt: at }) => (at && (!last || at > last) ? at : last), null);
  const qualification = qualificationStateOf(isQualified, lastSuccessAt);
  return {
    name,
    is_qualified: qualification === 'qualified',
    qualification,
    qualified: judged ? qualifiedBriefOf(judged) : null,
    status: isEverywhere('operational') ? 'operational' : isEverywhere('outage') ? 'outage' : 'degraded',
    last_success_at: lastSuccessAt,
    latency_ms: { p50: highest(views.map(({ p50 }) => p50)), p95: highest(views.map(({ p95 }) => p95)) },
    ...rateShown(views),
    next_request_at: views.reduce<string | null>((last, { nextRequestAt: at }) => (at && (!last || at > last) ? at : last), null),
    ...clockShown(views),
  };
}

/** The smallest number of requests that a worker has seen: the others have not read the latest number yet. */
function rateShown(views: readonly ProviderHealth[]): Pick<ProviderStatus, 'rate'> {
  const [fewest] = views.flatMap(({ rate }) => rate ?? []).sort((a, b) => a.left - b.left);
  return fewest ? { rate: { requests: fewest.requests, per_seconds: fewest.perSeconds, left: fewest.left } } : {};
}

function clockShown(views: readonly ProviderHealth[]): Pick<ProviderStatus, 'clock'> {
  const clock = worstClockOf(views);
  return clock ? { clock: { status: clock.state, drift_ms: clock.driftMs && Math.round(clock.driftMs) } } : {};
}

function providersOf({ workers = [], known }: Sighting): readonly ProviderStatus[] {
  if (workers.length === 0) return known.map((provider) => ({ ...provider, status: 'outage' }));
  const byName = Map.groupBy(workers.flat(), ({ name }) => name);
  return [...byName.values()].flatMap((views) => (views[0] ? [merge(views, views[0])] : []));
}

/** The state of all providers together. One working provider is enough to stamp, so faults of others only degrade the service. */
function stateOfProviders(providers: readonly ProviderStatus[]): ServiceState {
  if (providers.every(({ status }) => status === 'outage')) return 'outage';
  return providers.every(({ status }) => status === 'operational') ? 'operational' : 'degraded';
}

const part = (name: string, status: PartState, note: string): ComponentState => ({
  name,
  status,
  note: status === 'operational' ? '' : note,
});

function queueOf({ queue, refusing, stampWaitMs }: Sighting): ComponentState {
  if (!queue) return part('Queue', 'outage', 'The queue does not answer.');
  if (refusing.redis) return part('Queue', 'outage', 'The queue accepts no writes.');
  const isLate = (queue.oldestAgeMs ?? 0) > stampWaitMs;
  return part('Queue', isLate ? 'degraded' : 'operational', 'Stamps take longer than callers wait.');
}

/**
 * The part `Clock`: the state of the clocks for the service's own signing keys. It does not change the state of the service, because the state of
 * their providers already shows whether they stamp.
 */
function clocksOf(workers: Sighting['workers'] = []): ComponentState[] {
  const clock = worstClockOf(workers.flat());
  if (!clock) return [];
  const { state, driftMs } = clock;
  const off = `The clock is off by ${Math.round(Math.abs(driftMs ?? 0))} ms. The service issues no stamps by it.`;
  if (state === 'unchecked') return [part('Clock', 'not_configured', 'The clock is not checked against others.')];
  if (state === 'unknown') return [part('Clock', 'outage', 'Nothing confirms the clock. The service issues no stamps by it.')];
  return [part('Clock', state === 'off' ? 'outage' : 'operational', off)];
}

/** Derives the state of the service from the state of its parts. */
export function assess(sighting: Sighting): Assessment {
  const { isStoreUp, refusing, workers, mail } = sighting;
  const providers = providersOf(sighting);
  const parts = [
    isStoreUp
      ? part('Store', refusing.mongodb ? 'outage' : 'operational', 'The store accepts no writes.')
      : part('Store', 'outage', 'The store does not answer.'),
    queueOf(sighting),
    part('Workers', workers && workers.length > 0 ? 'operational' : 'outage', 'No worker reports.'),
    part('Providers', stateOfProviders(providers), 'Some providers make no stamps.'),
  ];
  const [mailStatus, mailNote] = mailParts[mail];
  const mailPart = part('Mail', mailStatus, mailNote);
  const stamping = worst(parts.map((each) => each.status));
  const firstFault = parts.find((each) => each.status === stamping);
  return {
    status: worst([stamping, mailPart.status]),
    providers,
    components: [
      part('Stamping', stamping, firstFault?.note ?? ''),
      part('Verification', isStoreUp ? 'operational' : 'outage', 'Stamps cannot be read at the moment.'),
      ...parts.filter(({ name }) => name !== 'Providers'),
      ...clocksOf(workers),
      mailPart,
    ],
  };
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

/** The maximum wait for an answer of Redis. */
const timeoutMs = 1_000;

/**
 * The first of these states that any worker reports is the state of all: one worker that cannot send is a fault; otherwise one worker that can send
 * is enough.
 */
const byWeight = ['failing', 'ok', 'unknown', 'not_configured'] as const satisfies readonly MailState[];

/** Combines the mail states of several workers. `heartbeats` is undefined if Redis did not answer. */
export const mailStateOf = (heartbeats: readonly Pick<Heartbeat, 'mail'>[] | undefined): MailState =>
  byWeight.find((state) => heartbeats?.some(({ mail }) => mail === state)) ?? 'unknown';

/** Whether mails can be sent. Only a missing mail server means that none can (W19): a mail that fails is retried for an hour (W12). */
export const canSendMail = async ({ readHeartbeats, clock }: ApiTools): Promise<boolean> =>
  mailStateOf(await answerWithin(timeoutMs, () => readHeartbeats(clock()))) !== 'not_configured';
