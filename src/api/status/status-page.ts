import type { ProviderStatus, StatusCounters, StatusResponse, TrustedListStatus } from '../../shared/contract/status.ts';
import type { Qualification, QualificationReason } from '../../shared/domain/qualification.ts';
import { countryText } from '../../shared/domain/qualification.ts';
import type { Durability, ServiceState } from '../../shared/domain/service-state.ts';
import { count, duration } from '../../shared/views/format.ts';
import { type MarkShown, markOf } from '../verification/index.ts';
import type { PartState } from './service-state.ts';
import type { StatusFigures } from './status.ts';
import { type DayBar, dayBars } from './status.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly status: StatusPage;
  }
}

/** The status page. Unknown numbers are null; the template shows a dash for them. */
interface StatusPage {
  readonly version: string;
  /** When the figures were read. */
  readonly time: string;
  readonly uptimeSeconds: number;
  readonly headline: { readonly state: StateShown; readonly sentence: string; readonly since: string };
  /** What works for the users of the service. */
  readonly abilities: readonly Ability[];
  readonly parts: readonly PartShown[];
  readonly providers: readonly ProviderShown[];
  /** Whether the next stamp of each provider is qualified. */
  readonly nextStamps: readonly { readonly provider: string; readonly qualification: Omit<Qualification, 'isClaimedByToken'> }[];
  readonly lists: readonly ListShown[];
  /** The lists whose last refresh failed. */
  readonly refusedLists: readonly RefusedListShown[];
  readonly counters: readonly { readonly label: string; readonly last24h: number | null; readonly lifetime: number | null }[];
  readonly evidence: { readonly lastRunAt: string; readonly due: string; readonly lapsed: string; readonly unknown: string | null } | null;
  readonly chart: ChartShown;
}

interface StateShown {
  readonly name: PartState;
  readonly icon: string;
  readonly label: string;
}

/** `since` is null while nothing is wrong. */
interface Ability {
  readonly state: StateShown;
  readonly sentence: string;
  readonly note: string;
  readonly remark: string;
  readonly since: string | null;
}

interface PartShown {
  readonly name: string;
  readonly state: StateShown;
  readonly note: string;
  readonly since: string | null;
  /** The load of the queue; null for other parts. */
  readonly load: string | null;
}

interface ProviderShown extends Pick<ProviderStatus, 'name' | 'rate'> {
  readonly mark: MarkShown;
  readonly state: StateShown;
  /** Milliseconds. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly lastStampAt: string | null;
  readonly nextRequestAt: string | null;
}

interface ListShown {
  readonly name: string;
  readonly sha256: string | null;
  /** `tone` is the state of a part with the same colour. */
  readonly state: { readonly tone: ServiceState; readonly icon: string; readonly label: string };
  readonly number: number | null;
  readonly issuedAt: string | null;
  readonly nextUpdate: string | null;
}

interface RefusedListShown {
  readonly name: string;
  readonly checkedAt: string;
  readonly sentence: string;
  /** The list that stays in force; null if there is none. */
  readonly inForce: { readonly number: number | null } | null;
}

interface ChartShown {
  /** Oldest first. */
  readonly bars: readonly DayBar[];
  readonly newestFirst: readonly DayBar[];
  readonly firstDate: string;
  readonly lastDate: string;
  /** The number of stamps in all bars, with its noun. */
  readonly made: string;
  readonly failed: number;
  /** Null if no stamp was made. */
  readonly busiest: DayBar | null;
  readonly scale: number;
}

/** Makes the model of the status page. */
export function statusPageOf({ status, since, components, days }: StatusFigures): StatusPage {
  const partOf = (name: string): Part => {
    const part = components.find((each) => each.name === name);
    if (!part) throw new Error(`the status has no part ${name}`);
    return part;
  };
  const [stamping, verification, mail] = [partOf('Stamping'), partOf('Verification'), partOf('Mail')];
  const isUnasked = stamping.status === 'operational' && status.providers.every((provider) => stateOf(provider) === 'unasked');
  const shown = isUnasked && status.status === 'operational' ? 'unasked' : status.status;
  const judged = status.providers.flatMap(({ name, qualified }) => (qualified ? [{ name, qualified }] : []));
  return {
    ...{ version: status.version, time: status.time, uptimeSeconds: status.uptime_seconds },
    headline: { state: stateShown(shown), sentence: headlines[shown], since },
    abilities: [
      stampingShown(stamping, isUnasked, status.provider),
      abilityOf(verification, verification.status === 'operational' ? 'Stamps can be verified.' : 'Stamps cannot be verified by their id.'),
      { ...abilityOf(mail, mailSentences[mail.status]), note: mail.status === 'unasked' ? '' : mail.note },
      workflowsShown(stamping, isUnasked, mail),
    ],
    parts: components
      .filter((part) => part !== stamping && part !== verification && part !== mail)
      .map((part) => ({
        ...{ name: part.name, state: stateShown(part.status), note: part.note, since: faultSince(part) },
        load: part.name === 'Queue' ? loadText(status.queue) : null,
      })),
    providers: status.providers.map((provider) => ({
      ...{ name: provider.name, mark: markOf(provider.qualification, provider.qualified?.basis), rate: provider.rate },
      ...{ state: stateShown(stateOf(provider)), ...provider.latency_ms },
      ...{ lastStampAt: provider.last_success_at, nextRequestAt: provider.next_request_at },
    })),
    nextStamps: judged.map(({ name, qualified }) => ({ provider: name, qualification: qualificationOf(qualified) })),
    ...listsShown(status.trusted_lists),
    counters: counterLabels.map(([field, label]) => ({
      label,
      last24h: status.counters.last_24h[field],
      lifetime: status.counters.lifetime[field],
    })),
    evidence: evidenceShown(status.evidence),
    chart: chartOf(days, status.time),
  };
}

type Part = StatusFigures['components'][number];

const headlines: Readonly<Record<ServiceState | 'unasked', string>> = {
  operational: 'Everything works.',
  degraded: 'Stamps are made, but some parts do not work.',
  outage: 'Stamps cannot be made at the moment.',
  unasked: 'No fault is known, but no provider was asked yet.',
};

const states: Readonly<Record<PartState, Omit<StateShown, 'name'>>> = {
  operational: { icon: 'check', label: 'Operational' },
  degraded: { icon: 'warning', label: 'Degraded' },
  outage: { icon: 'cross', label: 'Outage' },
  unasked: { icon: 'pending', label: 'Not asked yet' },
  not_configured: { icon: 'pending', label: 'Not set up' },
};

const stateShown = (name: PartState): StateShown => ({ name, ...states[name] });

/** A provider counts as working only after it has made a stamp. */
const stateOf = (provider: ProviderStatus): PartState =>
  provider.status === 'operational' && provider.last_success_at === null ? 'unasked' : provider.status;

const faultSince = ({ status, since }: Part): string | null => (status === 'degraded' || status === 'outage' ? since : null);

const abilityOf = (part: Part, sentence: string, remark = ''): Ability => ({
  ...{ state: stateShown(part.status), sentence, note: part.note, remark, since: faultSince(part) },
});

function stampingShown(stamping: Part, isUnasked: boolean, provider: ProviderStatus): Ability {
  if (stamping.status === 'outage') return abilityOf(stamping, 'Stamps cannot be made.', providerRemark(provider));
  if (!isUnasked) return abilityOf(stamping, 'Stamps are made.', providerRemark(provider));
  return abilityOf({ ...stamping, status: 'unasked' }, 'No provider was asked for a stamp yet.', providerRemark(provider));
}

function providerRemark({ name, qualification, qualified }: ProviderStatus): string {
  if (qualification !== 'not_qualified') return '';
  if (name === 'mock') return 'The provider mock is for testing: its stamps prove nothing to a third party.';
  const isDevelopment = qualified?.reason?.startsWith('development_tsa:');
  return isDevelopment
    ? `The provider ${name} is for trials: its operator holds the key, and its stamps prove nothing to a third party.`
    : `The provider ${name} is not a qualified trust service.`;
}

const mailSentences: Readonly<Record<PartState, string>> = {
  operational: 'Mails are sent.',
  degraded: 'Mails are late.',
  outage: 'No mails are sent.',
  unasked: 'No mail was sent yet.',
  not_configured: 'No mails are sent.',
};

function workflowsShown(stamping: Part, isUnasked: boolean, mail: Part): Ability {
  if (stamping.status === 'outage') return { ...abilityOf(stamping, 'Workflows cannot be stamped or completed.'), note: '' };
  return {
    state: stateShown('operational'),
    sentence: isUnasked ? 'Workflows can be started.' : 'Workflows can be started, stamped and completed.',
    note: '',
    remark: mail.status === 'not_configured' ? 'Only those of the tier standard.' : '',
    since: null,
  };
}

/** For each durability of the queue: the effect of a crash of its server. */
const durabilities: Readonly<Record<Durability, string>> = {
  every_write: 'Accepted jobs survive a crash of the queue.',
  every_second: 'A crash of the queue may lose the jobs of its last second.',
  none: 'A crash of the queue may lose accepted jobs.',
  unknown: 'It is not known whether accepted jobs survive a crash of the queue.',
};

/** `0 stamps`, `1 stamp`. */
const amount = (value: number | null, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

function loadText({ depth, oldest_job_age_seconds: oldest, failed_jobs: failed, durability }: StatusResponse['queue']): string | null {
  if (depth === null) return null;
  const wait = (value: number) => (value === 1 ? 'waits' : 'wait');
  const waiting = `${amount(depth, 'stamp')} ${wait(depth)}${oldest === null ? '' : `, the oldest for ${duration(oldest)}`}.`;
  const given = failed ? ` ${amount(failed, 'job')} could not be done and ${wait(failed)} for the operator.` : '';
  return `${waiting}${given} ${durabilities[durability]}`;
}

/** The status names no single list, and of the reason only the code has a sentence for people. */
const qualificationOf = ({ status, basis, reason }: NonNullable<ProviderStatus['qualified']>) => ({
  ...{ status, basis, listed: null },
  reason: reason === null ? null : (reason.split(':')[0] as QualificationReason),
});

const listStates: Readonly<Record<TrustedListStatus['state'], ListShown['state']>> = {
  current: { icon: 'check', tone: 'operational', label: 'Current' },
  due_soon: { icon: 'warning', tone: 'degraded', label: 'Next update due' },
  expired: { icon: 'cross', tone: 'outage', label: 'Expired' },
  closed: { icon: 'check', tone: 'operational', label: 'Closed' },
  missing: { icon: 'cross', tone: 'outage', label: 'None yet' },
};

function listsShown(found: readonly TrustedListStatus[]): Pick<StatusPage, 'lists' | 'refusedLists'> {
  // The list of lists leads to the others.
  const lists = found.toSorted((a, b) => Number(b.territory === 'EU') - Number(a.territory === 'EU'));
  const nameOf = ({ territory }: TrustedListStatus) => (territory === 'EU' ? 'List of lists' : countryText(territory));
  return {
    lists: lists.map((list) => ({
      ...{ name: nameOf(list), sha256: list.sha256, state: listStates[list.state], number: list.sequence_number },
      ...{ issuedAt: list.issued_at, nextUpdate: list.next_update },
    })),
    refusedLists: lists.flatMap((list) =>
      list.reason === null
        ? []
        : {
            name: nameOf(list),
            checkedAt: list.checked_at,
            // The code is for programs; people read the sentence.
            sentence: list.reason.replace(/^\w+: /, ''),
            inForce: list.sha256 ? { number: list.sequence_number } : null,
          },
    ),
  };
}

const counterLabels: readonly (readonly [keyof StatusCounters, string])[] = [
  ['stamps', 'Stamps made'],
  ['failed', 'Stamps failed'],
  ['verifications', 'Verifications'],
  ['workflows_started', 'Workflows started'],
  ['workflows_completed', 'Workflows completed'],
  ['evidence_renewed', 'Evidence renewed'],
];

function evidenceShown({ last_run_at: lastRunAt, due, lapsed, unknown }: StatusResponse['evidence']): StatusPage['evidence'] {
  if (!lastRunAt) return null;
  const amountOf = (value: number | null) => amount(value, 'time-stamp');
  return { lastRunAt, due: amountOf(due), lapsed: amountOf(lapsed), unknown: unknown ? amountOf(unknown) : null };
}

function chartOf(days: StatusFigures['days'], time: string): ChartShown {
  const { bars, scale } = dayBars(days, { time, length: 30, width: 720, height: 120 });
  const [first, last] = [bars[0], bars.at(-1)];
  if (!first || !last) throw new Error('the chart has no day');
  const busiest = bars.reduce((most, bar) => (bar.stamps > most.stamps ? bar : most), first);
  return {
    ...{ bars, scale, newestFirst: bars.toReversed(), firstDate: first.date, lastDate: last.date },
    made: amount(
      bars.reduce((sum, bar) => sum + bar.stamps, 0),
      'stamp',
    ),
    failed: bars.reduce((sum, bar) => sum + bar.failed, 0),
    busiest: busiest.stamps > 0 ? busiest : null,
  };
}
