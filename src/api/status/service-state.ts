import type { ProviderStatus } from '../../shared/contract/status.ts';
import {
  type ClockState,
  type MailState,
  type Qualification,
  type ServiceState,
  serviceStates,
} from '../../shared/domain/service-state.ts';
import type { ProviderHealth } from '../../shared/queue/heartbeat.ts';
import type { Refusing } from '../server/write-watch.ts';

/** What could be seen of the service's parts at one moment; undefined is what did not answer. */
export interface Sighting {
  readonly isStoreUp: boolean;
  /** Which servers answer and take no writes. */
  readonly refusing: Refusing;
  /** What each living worker says of its providers, most preferred first. */
  readonly workers: readonly (readonly ProviderHealth[])[] | undefined;
  readonly queue: { readonly oldestAgeMs: number | null } | undefined;
  readonly mail: MailState;
  /** The providers as they were known last, for when no worker speaks of them. */
  readonly known: readonly ProviderStatus[];
  /** How long a caller waits: jobs older than that are late (E11). */
  readonly stampWaitMs: number;
}

/** `unasked`: nothing is known yet; `not_configured`: left out on purpose, which is no fault. */
export type PartState = ServiceState | 'unasked' | 'not_configured';

/** A part of the service, and one sentence where there is something to say of it. */
export interface ComponentState {
  readonly name: string;
  readonly status: PartState;
  readonly note: string;
}

export interface Assessment {
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
  failing: ['degraded', 'The mail server did not take the last mail; it is tried again.'],
  unknown: ['unasked', 'No mail was sent yet.'],
  not_configured: ['not_configured', 'No mail can be sent: workflows of the tiers verified and qualified cannot be started.'],
};

/** Whether a provider may be called qualified: only after one of its tokens was verified (V9). */
export function qualificationOf(isQualified: boolean, lastSuccessAt: string | null): Qualification {
  if (!isQualified) return 'not_qualified';
  return lastSuccessAt === null ? 'not_asked' : 'qualified';
}

/**
 * Merges what several workers say of one provider. It is out when all say so, operational when all say so, else degraded; the slowest
 * latency counts.
 */
function merge(views: readonly ProviderHealth[], { name, isQualified }: ProviderHealth): ProviderStatus {
  const states = views.map(({ status }) => status);
  const isEverywhere = (state: ServiceState) => states.every((each) => each === state);
  const lastSuccessAt = views.reduce<string | null>((last, { lastSuccessAt: at }) => (at && (!last || at > last) ? at : last), null);
  const qualification = qualificationOf(isQualified, lastSuccessAt);
  return {
    name,
    is_qualified: qualification === 'qualified',
    qualification,
    status: isEverywhere('operational') ? 'operational' : isEverywhere('outage') ? 'outage' : 'degraded',
    last_success_at: lastSuccessAt,
    latency_ms: { p50: highest(views.map(({ p50 }) => p50)), p95: highest(views.map(({ p95 }) => p95)) },
    ...clockShown(views),
  };
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

/** One provider that works is enough to stamp; every other fault only degrades. */
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
  if (refusing.redis) return part('Queue', 'outage', 'The queue takes no writes.');
  const isLate = (queue.oldestAgeMs ?? 0) > stampWaitMs;
  return part('Queue', isLate ? 'degraded' : 'operational', 'Stamps wait longer than callers do.');
}

/** Of the clocks that keys of one's own stamp by; whether they stamp is told by their providers. */
function clocksOf(workers: Sighting['workers'] = []): ComponentState[] {
  const clock = worstClockOf(workers.flat());
  if (!clock) return [];
  const { state, driftMs } = clock;
  const off = `The clock is off by ${Math.round(Math.abs(driftMs ?? 0))} ms: no stamps are issued by it.`;
  if (state === 'unchecked') return [part('Clock', 'not_configured', 'Nobody is asked whether the clock is right.')];
  if (state === 'unknown') return [part('Clock', 'outage', 'Nobody confirms the clock: no stamps are issued by it.')];
  return [part('Clock', state === 'off' ? 'outage' : 'operational', off)];
}

/** What the service can do, judged by what can be seen of its parts. */
export function assess(sighting: Sighting): Assessment {
  const { isStoreUp, refusing, workers, mail } = sighting;
  const providers = providersOf(sighting);
  const parts = [
    isStoreUp
      ? part('Store', refusing.mongodb ? 'outage' : 'operational', 'The store takes no writes.')
      : part('Store', 'outage', 'The store does not answer.'),
    queueOf(sighting),
    part('Workers', workers && workers.length > 0 ? 'operational' : 'outage', 'No worker is heard.'),
    part('Providers', stateOfProviders(providers), 'Not every provider makes stamps.'),
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

/** What the workers say of the clocks that keys of one's own stamp by: the worst of it; undefined where there is no such key. */
export function worstClockOf(views: readonly ProviderHealth[]): { state: ClockState; driftMs: number | null } | undefined {
  const clocks = views.flatMap(({ clock }) => clock ?? []);
  const state = worstFirst.find((each) => clocks.some((clock) => clock.state === each));
  if (state === undefined) return undefined;
  const drifts = clocks.flatMap(({ driftMs }) => driftMs ?? []).sort((a, b) => Math.abs(b) - Math.abs(a));
  return { state, driftMs: drifts[0] ?? null };
}
