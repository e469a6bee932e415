import type { ProviderStatus, StatusCounters, StatusResponse, TrustedListStatus } from '../../shared/contract/status.ts';
import { countryText, type QualificationReason } from '../../shared/domain/qualification.ts';
import type { Durability, ServiceState } from '../../shared/domain/service-state.ts';
import type { Words } from '../../shared/views/format.ts';
import { markOf } from '../verification/index.ts';
import { type ComponentName, type DayFigures, type PartState, type StatusFigures, shownDays } from './status.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly status: ReturnType<ReturnType<typeof statusPageOf>>;
  }
}

/** Makes the model of the status page. Unknown numbers are null; the template shows a dash for them. */
export const statusPageOf =
  ({ status, since, components, days }: StatusFigures) =>
  (words: Words) => {
    const { t, language } = words;
    const partOf = (name: ComponentName): Part => components.find((each) => each.name === name)!;
    const [stamping, verification, mail] = [partOf('Stamping'), partOf('Verification'), partOf('Mail')];
    const isUnasked = stamping.status === 'operational' && status.providers.every((provider) => stateOf(provider) === 'unasked');
    const shown = isUnasked && status.status === 'operational' ? 'unasked' : status.status;
    const verified = verification.status === 'operational' ? t('Stamps can be verified.') : t('Stamps cannot be verified by their id.');
    return {
      ...{ version: status.version, time: status.time, uptimeSeconds: status.uptime_seconds },
      headline: { state: stateShown(shown, words), sentence: headlinesOf(words)[shown], since },
      /** What works for the users of the service. */
      abilities: [
        stampingShown(stamping, isUnasked, status.provider, words),
        abilityOf(verification, verified, words),
        { ...abilityOf(mail, mailSentencesOf(words)[mail.status], words), ...(mail.status === 'unasked' && { note: '' }) },
        workflowsShown(stamping, isUnasked, mail, words),
      ],
      parts: components
        .filter((part) => part !== stamping && part !== verification && part !== mail)
        .map((part) => ({
          ...{ name: t(part.name), state: stateShown(part.status, words), note: t(part.note, part.values), since: faultSince(part) },
          load: part.name === 'Queue' ? loadText(status.queue, words) : null,
        })),
      providers: status.providers.map((provider) => ({
        ...provider,
        mark: markOf(provider.qualification, provider.qualified?.basis, words),
        state: stateShown(stateOf(provider), words),
        /** Whether its next stamp is qualified; null if it was not asked yet. */
        next: provider.qualified && qualificationOf(provider.qualified),
      })),
      lists: status.trusted_lists
        // The list of lists leads to the others.
        .toSorted((a, b) => Number(b.territory === 'EU') - Number(a.territory === 'EU'))
        .map((list) => ({
          ...list,
          name: list.territory === 'EU' ? t('List of lists') : countryText(list.territory, language),
          shown: listStatesOf(words)[list.state],
          /** Why the last refresh failed: the code is for programs; people read the sentence. */
          refusal: list.reason && t(list.reason.replace(/^\w+: /, '')),
        })),
      counters: counterLabelsOf(words).map(([field, label]) => ({
        label,
        last24h: status.counters.last_24h[field],
        lifetime: status.counters.lifetime[field],
      })),
      evidence: status.evidence,
      chart: chartOf(days, status.time),
    };
  };

type Part = StatusFigures['components'][number];

const headlinesOf = ({ t }: Words): Readonly<Record<ServiceState | 'unasked', string>> => ({
  operational: t('Everything works.'),
  degraded: t('Stamps are made, but some parts do not work.'),
  outage: t('Stamps cannot be made at the moment.'),
  unasked: t('No fault is known, but no provider was asked yet.'),
});

const statesOf = ({ t }: Words): Readonly<Record<PartState, { readonly icon: string; readonly label: string }>> => ({
  operational: { icon: 'check', label: t('Operational') },
  degraded: { icon: 'warning', label: t('Degraded') },
  outage: { icon: 'cross', label: t('Outage') },
  unasked: { icon: 'pending', label: t('Not asked yet') },
  not_configured: { icon: 'pending', label: t('Not set up') },
});

const stateShown = (name: PartState, words: Words) => ({ name, ...statesOf(words)[name] });

/** A provider counts as working only after it has made a stamp. */
const stateOf = (provider: ProviderStatus): PartState =>
  provider.status === 'operational' && provider.last_success_at === null ? 'unasked' : provider.status;

const faultSince = ({ status, since }: Part): string | null => (status === 'degraded' || status === 'outage' ? since : null);

const abilityOf = (part: Part, sentence: string, words: Words, remark = '') => ({
  ...{ state: stateShown(part.status, words), sentence, note: words.t(part.note, part.values), remark, since: faultSince(part) },
});

function stampingShown(stamping: Part, isUnasked: boolean, provider: ProviderStatus, words: Words) {
  const { t } = words;
  const remark = providerRemark(provider, words);
  if (isUnasked) return abilityOf({ ...stamping, status: 'unasked' }, t('No provider was asked for a stamp yet.'), words, remark);
  return abilityOf(stamping, stamping.status === 'outage' ? t('Stamps cannot be made.') : t('Stamps are made.'), words, remark);
}

function providerRemark({ name, qualification, qualified }: ProviderStatus, { t }: Words): string {
  if (qualification !== 'not_qualified') return '';
  if (name === 'mock') return t('The provider mock is for testing: its stamps prove nothing to a third party.');
  const isDevelopment = qualified?.reason?.startsWith('development_tsa:');
  return isDevelopment
    ? t('The provider {name} is for trials: its operator holds the key, and its stamps prove nothing to a third party.', { name })
    : t('The provider {name} is not a qualified trust service.', { name });
}

const mailSentencesOf = ({ t }: Words): Readonly<Record<PartState, string>> => ({
  operational: t('Mails are sent.'),
  degraded: t('Mails are late.'),
  outage: t('No mails are sent.'),
  unasked: t('No mail was sent yet.'),
  not_configured: t('No mails are sent.'),
});

function workflowsShown(stamping: Part, isUnasked: boolean, mail: Part, words: Words) {
  const { t } = words;
  if (stamping.status === 'outage') return { ...abilityOf(stamping, t('Records cannot be stamped or closed.'), words), note: '' };
  return {
    state: stateShown('operational', words),
    sentence: isUnasked ? t('Records can be started.') : t('Records can be started, stamped and closed.'),
    note: '',
    remark: mail.status === 'not_configured' ? t('Only those of the tier standard.') : '',
    since: null,
  };
}

/** For each durability of the queue: the effect of a crash of its server. A failover keeps the jobs only if replicas confirm them. */
const durabilitiesOf = ({ t }: Words): Readonly<Record<Durability, string>> => ({
  every_write: t('Accepted jobs survive a crash of the queue.'),
  every_second: t('A crash of the queue may lose the jobs of its last second.'),
  none: t('A crash of the queue may lose accepted jobs.'),
  unknown: t('It is not known whether accepted jobs survive a crash of the queue.'),
});

function loadText(
  { depth, oldest_job_age_seconds: oldest, failed_jobs: failed, durability, survives }: StatusResponse['queue'],
  words: Words,
): string | null {
  if (depth === null) return null;
  const { t, tCount, duration } = words;
  return [
    tCount(depth, '{count} stamp waits.', '{count} stamps wait.'),
    oldest === null ? '' : t('Longest wait so far: {duration}.', { duration: duration(oldest) }),
    failed
      ? tCount(
          failed,
          '{count} job could not be done and waits for the operator.',
          '{count} jobs could not be done and wait for the operator.',
        )
      : '',
    survives === 'failover'
      ? t('Accepted jobs survive a crash of the queue and a failover to another server.')
      : durabilitiesOf(words)[durability],
  ]
    .filter(Boolean)
    .join(' ');
}

/** The status names no single list, and of the reason only the code has a sentence for people. */
const qualificationOf = ({ status, basis, reason }: NonNullable<ProviderStatus['qualified']>) => ({
  ...{ status, basis, listed: null },
  reason: reason === null ? null : (reason.split(':')[0] as QualificationReason),
});

/** `tone` is the state of a part with the same colour. */
const listStatesOf = ({ t }: Words) =>
  ({
    current: { icon: 'check', tone: 'operational', label: t('Current') },
    due_soon: { icon: 'warning', tone: 'degraded', label: t('Next update due') },
    expired: { icon: 'cross', tone: 'outage', label: t('List expired') },
    closed: { icon: 'check', tone: 'operational', label: t('List closed') },
    missing: { icon: 'cross', tone: 'outage', label: t('No list yet') },
  }) satisfies Record<TrustedListStatus['state'], { icon: string; tone: ServiceState; label: string }>;

const counterLabelsOf = ({ t }: Words): readonly (readonly [keyof StatusCounters, string])[] => [
  ['stamps', t('Stamps made')],
  ['failed', t('Stamps failed')],
  ['verifications', t('Verifications')],
  ['workflows_started', t('Records started')],
  ['workflows_completed', t('Records closed')],
  ['evidence_renewed', t('Evidence renewed')],
];

function chartOf(days: readonly DayFigures[], time: string) {
  const { bars, scale } = dayBars(days, time);
  const sum = (count: (bar: DayFigures) => number) => bars.reduce((all, bar) => all + count(bar), 0);
  const busiest = bars.reduce((most, bar) => (bar.stamps > most.stamps ? bar : most));
  return {
    ...{ bars, scale, newestFirst: bars.toReversed(), firstDate: bars[0]!.date, lastDate: bars.at(-1)!.date },
    made: sum(({ stamps }) => stamps),
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
