import type { ProviderStatus, StatusCounters, StatusResponse, TrustedListStatus } from '../../shared/contract/status.ts';
import { countryText, type QualificationReason } from '../../shared/domain/qualification.ts';
import type { Durability, ServiceState } from '../../shared/domain/service-state.ts';
import { wordsOf } from '../../shared/views/format.ts';
import { markOf } from '../verification/index.ts';
import { type ComponentName, type DayFigures, type PartState, type StatusFigures, shownDays } from './status.ts';

/** The status page is only in English. */
const words = wordsOf('en');
const { count, duration } = words;

declare module '../http/views.ts' {
  interface PageModels {
    readonly status: ReturnType<typeof statusPageOf>;
  }
}

/** Makes the model of the status page. Unknown numbers are null; the template shows a dash for them. */
export function statusPageOf({ status, since, components, days }: StatusFigures) {
  const partOf = (name: ComponentName): Part => components.find((each) => each.name === name)!;
  const [stamping, verification, mail] = [partOf('Stamping'), partOf('Verification'), partOf('Mail')];
  const isUnasked = stamping.status === 'operational' && status.providers.every((provider) => stateOf(provider) === 'unasked');
  const shown = isUnasked && status.status === 'operational' ? 'unasked' : status.status;
  return {
    ...{ version: status.version, time: status.time, uptimeSeconds: status.uptime_seconds },
    headline: { state: stateShown(shown), sentence: headlines[shown], since },
    /** What works for the users of the service. */
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
      ...provider,
      mark: markOf(provider.qualification, provider.qualified?.basis, words),
      state: stateShown(stateOf(provider)),
      /** Whether its next stamp is qualified; null if it was not asked yet. */
      next: provider.qualified && qualificationOf(provider.qualified),
    })),
    lists: status.trusted_lists
      // The list of lists leads to the others.
      .toSorted((a, b) => Number(b.territory === 'EU') - Number(a.territory === 'EU'))
      .map((list) => ({
        ...list,
        name: list.territory === 'EU' ? 'List of lists' : countryText(list.territory),
        shown: listStates[list.state],
        /** Why the last refresh failed: the code is for programs; people read the sentence. */
        refusal: list.reason?.replace(/^\w+: /, ''),
      })),
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

const states: Readonly<Record<PartState, { readonly icon: string; readonly label: string }>> = {
  operational: { icon: 'check', label: 'Operational' },
  degraded: { icon: 'warning', label: 'Degraded' },
  outage: { icon: 'cross', label: 'Outage' },
  unasked: { icon: 'pending', label: 'Not asked yet' },
  not_configured: { icon: 'pending', label: 'Not set up' },
};

const stateShown = (name: PartState) => ({ name, ...states[name] });

/** A provider counts as working only after it has made a stamp. */
const stateOf = (provider: ProviderStatus): PartState =>
  provider.status === 'operational' && provider.last_success_at === null ? 'unasked' : provider.status;

const faultSince = ({ status, since }: Part): string | null => (status === 'degraded' || status === 'outage' ? since : null);

const abilityOf = (part: Part, sentence: string, remark = '') => ({
  ...{ state: stateShown(part.status), sentence, note: part.note, remark, since: faultSince(part) },
});

function stampingShown(stamping: Part, isUnasked: boolean, provider: ProviderStatus) {
  const remark = providerRemark(provider);
  if (isUnasked) return abilityOf({ ...stamping, status: 'unasked' }, 'No provider was asked for a stamp yet.', remark);
  return abilityOf(stamping, stamping.status === 'outage' ? 'Stamps cannot be made.' : 'Stamps are made.', remark);
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

function workflowsShown(stamping: Part, isUnasked: boolean, mail: Part) {
  if (stamping.status === 'outage') return { ...abilityOf(stamping, 'Workflows cannot be stamped or completed.'), note: '' };
  return {
    state: stateShown('operational'),
    sentence: isUnasked ? 'Workflows can be started.' : 'Workflows can be started, stamped and completed.',
    note: '',
    remark: mail.status === 'not_configured' ? 'Only those of the tier standard.' : '',
    since: null,
  };
}

/** For each durability of the queue: the effect of a crash of its server. A failover keeps the jobs only if replicas confirm them. */
const durabilities: Readonly<Record<Durability, string>> = {
  every_write: 'Accepted jobs survive a crash of the queue.',
  every_second: 'A crash of the queue may lose the jobs of its last second.',
  none: 'A crash of the queue may lose accepted jobs.',
  unknown: 'It is not known whether accepted jobs survive a crash of the queue.',
};

/** `0 stamps`, `1 stamp`. */
const amount = (value: number | null, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

function loadText({
  depth,
  oldest_job_age_seconds: oldest,
  failed_jobs: failed,
  durability,
  survives,
}: StatusResponse['queue']): string | null {
  if (depth === null) return null;
  const wait = (value: number) => (value === 1 ? 'waits' : 'wait');
  const waiting = `${amount(depth, 'stamp')} ${wait(depth)}${oldest === null ? '' : `, the oldest for ${duration(oldest)}`}.`;
  const given = failed ? ` ${amount(failed, 'job')} could not be done and ${wait(failed)} for the operator.` : '';
  const kept =
    survives === 'failover' ? 'Accepted jobs survive a crash of the queue and a failover to another server.' : durabilities[durability];
  return `${waiting}${given} ${kept}`;
}

/** The status names no single list, and of the reason only the code has a sentence for people. */
const qualificationOf = ({ status, basis, reason }: NonNullable<ProviderStatus['qualified']>) => ({
  ...{ status, basis, listed: null },
  reason: reason === null ? null : (reason.split(':')[0] as QualificationReason),
});

/** `tone` is the state of a part with the same colour. */
const listStates: Readonly<
  Record<TrustedListStatus['state'], { readonly icon: string; readonly tone: ServiceState; readonly label: string }>
> = {
  current: { icon: 'check', tone: 'operational', label: 'Current' },
  due_soon: { icon: 'warning', tone: 'degraded', label: 'Next update due' },
  expired: { icon: 'cross', tone: 'outage', label: 'Expired' },
  closed: { icon: 'check', tone: 'operational', label: 'Closed' },
  missing: { icon: 'cross', tone: 'outage', label: 'None yet' },
};

const counterLabels: readonly (readonly [keyof StatusCounters, string])[] = [
  ['stamps', 'Stamps made'],
  ['failed', 'Stamps failed'],
  ['verifications', 'Verifications'],
  ['workflows_started', 'Workflows started'],
  ['workflows_completed', 'Workflows completed'],
  ['evidence_renewed', 'Evidence renewed'],
];

function evidenceShown({ last_run_at: lastRunAt, due, lapsed, unknown }: StatusResponse['evidence']) {
  if (!lastRunAt) return null;
  const amountOf = (value: number | null) => amount(value, 'time-stamp');
  return { lastRunAt, due: amountOf(due), lapsed: amountOf(lapsed), unknown: unknown ? amountOf(unknown) : null };
}

function chartOf(days: readonly DayFigures[], time: string) {
  const { bars, scale } = dayBars(days, time);
  const sum = (count: (bar: DayFigures) => number) => bars.reduce((all, bar) => all + count(bar), 0);
  const busiest = bars.reduce((most, bar) => (bar.stamps > most.stamps ? bar : most));
  return {
    ...{ bars, scale, newestFirst: bars.toReversed(), firstDate: bars[0]!.date, lastDate: bars.at(-1)!.date },
    made: amount(
      sum(({ stamps }) => stamps),
      'stamp',
    ),
    failed: sum(({ failed }) => failed),
    busiest: busiest.stamps > 0 ? busiest : null,
  };
}

const dayMs = 86_400_000;
/** The size of the chart, in the units of its view box. */
const [width, height] = [720, 120];

/**
 * The bars of the last 30 days up to the day of `time` (RFC 3339, UTC), oldest first. A missing day counts as zero. The part for failed stamps
 * (`rejected`) is on top of the part for made stamps (`stamped`). `scale` is the number of stamps at full height: the number of the busiest day, at
 * least 1.
 */
export function dayBars(days: readonly DayFigures[], time: string) {
  const figures = new Map(days.map((day) => [day.date, day]));
  const today = Date.parse(`${time.slice(0, 10)}T00:00:00Z`);
  const shown = Array.from({ length: shownDays }, (_, i): DayFigures => {
    const date = new Date(today - (shownDays - 1 - i) * dayMs).toISOString().slice(0, 10);
    return figures.get(date) ?? { date, stamps: 0, failed: 0 };
  });
  const scale = Math.max(1, ...shown.map(({ stamps, failed }) => stamps + failed));
  const step = width / shownDays;
  const round = (value: number): number => Math.round(value * 100) / 100;
  const bars = shown.map((day, i) => {
    const stamped = round((day.stamps / scale) * height);
    const rejected = round((day.failed / scale) * height);
    return {
      ...{ ...day, x: round(i * step + step * 0.15), width: round(step * 0.7) },
      stamped: { y: round(height - stamped), height: stamped },
      rejected: { y: round(height - stamped - rejected), height: rejected },
    };
  });
  return { bars, scale };
}
