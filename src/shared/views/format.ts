/** This module formats numbers, times and hashes for people. All templates use its functions. No function needs a clock or the system's locale. */

import { meaningPath, notQualifiedSentence, qualifiedParts } from '../domain/qualification.ts';

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

const months = 'January February March April May June July August September October November December'.split(' ');
const timePattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/;

/** Splits a time into its day, `21 November 2026`, its seconds, `11:46:07`, and the digits after them without trailing zeros. */
function partsOf(iso: string): { readonly day: string; readonly clock: string; readonly fraction: string } {
  const [, year, month, day, clock = '', fraction = ''] = timePattern.exec(iso) ?? [];
  const name = months[Number(month) - 1];
  if (!name) throw new RangeError(`not an RFC 3339 time in UTC: ${iso}`);
  return { day: `${Number(day)} ${name} ${year}`, clock, fraction: fraction.replace(/0+$/, '') };
}

/**
 * Formats an RFC 3339 time in UTC, to the second: `21 November 2026, 11:46:07 UTC`.
 *
 * @throws RangeError if it is not RFC 3339 in UTC
 */
export function timeText(iso: string): string {
  const { day, clock } = partsOf(iso);
  return `${day}, ${clock} UTC`;
}

/**
 * Formats the time of a stamp with all digits from its provider, except trailing zeros. genTime may be finer than a millisecond, and a shortened time
 * would be too early.
 *
 * @throws RangeError if it is not RFC 3339 in UTC
 */
export function stampTimeText(iso: string): string {
  const { day, clock, fraction } = partsOf(iso);
  return `${day}, ${clock}${fraction && `.${fraction}`} UTC`;
}

/** Formats the day `2026-11-21` as `21 November`. */
export const dayText = (date: string): string => timeText(`${date}T00:00:00Z`).split(' ').slice(0, 2).join(' ');

const timeElement = (iso: string, text: string): string => `<time datetime="${escapeHtml(iso)}">${text}</time>`;

/** Makes the `time` element for a time of the service's own clocks (RFC 3339, UTC). */
export const time = (iso: string): string => timeElement(iso, timeText(iso));

/** Makes the `time` element for the time of a stamp. A recorded value that is not a time is shown unchanged. */
export const stampTime = (iso: string): string =>
  timePattern.test(iso) ? timeElement(iso, stampTimeText(iso)) : `<code>${escapeHtml(iso)}</code>`;

/** Like `stampTime`, but without the day: `11:46:07.482`. */
export function stampClock(iso: string): string {
  if (!timePattern.test(iso)) return stampTime(iso);
  const { clock, fraction } = partsOf(iso);
  return timeElement(iso, `${clock}${fraction && `.${fraction}`}`);
}

/** The day of a time in UTC: `21 November 2026`. Empty for a recorded value that is not a time. */
export const dateText = (iso: string): string => (timePattern.test(iso) ? partsOf(iso).day : '');

/**
 * Makes the `time` element for a headline, with the minute that a clock shows: `21 November 2026, 11:46 UTC`. `local-time.js` puts the reader's own time
 * first. Write the exact time elsewhere on the page.
 */
export function minute(iso: string): string {
  const { day, clock } = partsOf(iso);
  return `<time datetime="${escapeHtml(iso)}" data-minute>${day}, ${clock.slice(0, 5)} UTC</time>`;
}

/** Formats a hash in groups of eight characters. The line can break between groups, but the hash is copied as one word. */
export function hash(hex: string): string {
  const groups = hex.match(/.{1,8}/g) ?? [];
  return `<code class="hash">${groups.map((group) => `<span>${escapeHtml(group)}</span>`).join('<wbr>')}</code>`;
}

/** Makes HTML of a sentence with named values, such as `{agent} recorded {files}`. The text is escaped; the values are HTML. */
export const sentence = (text: string, values: Readonly<Record<string, string>>): string =>
  escapeHtml(text).replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');

/** Makes HTML of a text from a caller, which may run in the other direction. */
export const given = (text: string): string => `<bdi class="given">${escapeHtml(text)}</bdi>`;

/** Converts a CommonMark sentence to HTML. Only text in backticks is formatted. */
export const inlineCode = (text: string): string =>
  text
    .split('`')
    .map((part, i) => (i % 2 === 0 ? escapeHtml(part) : `<code>${escapeHtml(part)}</code>`))
    .join('');

/** Formats a number: `12,345`, or an en dash if it is unknown. */
export const count = (value: number | null): string => value?.toLocaleString('en-GB') ?? '–';

/** Formats a number with its noun: `no output`, `1 output`, `12,345 outputs`. */
export const plural = (value: number, noun: string): string =>
  value === 0 ? `no ${noun}` : `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

const units = [
  { noun: 'day', seconds: 86_400 },
  { noun: 'hour', seconds: 3_600 },
  { noun: 'minute', seconds: 60 },
  { noun: 'second', seconds: 1 },
];

/** Formats a duration in its largest unit and the next smaller unit: `3 days 4 hours`, `12 seconds`. */
export function duration(seconds: number): string {
  let rest = Math.round(seconds);
  const first = units.findIndex((unit) => rest >= unit.seconds);
  if (first < 0) return '0 seconds';
  const parts = units.slice(first, first + 2).map((unit) => {
    const amount = Math.floor(rest / unit.seconds);
    rest -= amount * unit.seconds;
    return { amount, noun: unit.noun };
  });
  return parts
    .filter(({ amount }) => amount > 0)
    .map(({ amount, noun }) => plural(amount, noun))
    .join(' ');
}

/** Formats a latency: `240 ms`, `1.2 s`, or an en dash if nothing was measured. */
export function latency(ms: number | null): string {
  if (ms === null) return '–';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Says whether a time-stamp is qualified, as HTML with a link to the trusted list that decides. */
export function qualifiedLine(qualification: Parameters<typeof qualifiedParts>[0]): string {
  const { before, list, after } = qualifiedParts(qualification);
  const verdict = escapeHtml(before).replace(/^(?:Not (?:known to be )?q|Q)ualified/, '<strong>$&</strong>');
  const link = list && `<a href="/trusted-lists/${qualification.listed?.listSha256}">${escapeHtml(list)}</a>`;
  return verdict + link + escapeHtml(after);
}

/** The link to the page that explains the words of verdicts. */
export const meaningLink = `<a href="${meaningPath}">What this means</a>`;

/** Says in plain words what it means that a time-stamp is not qualified, as HTML. The reason is in `qualifiedLine`. */
export const notQualifiedLine = (reason: string | null | undefined): string =>
  `${escapeHtml(notQualifiedSentence(reason)).replace(/^[^:]+/, '<strong>$&</strong>')} ${meaningLink}`;

export { developmentSentence } from '../domain/qualification.ts';
