/** This module formats numbers, times and hashes for people, in each language. All templates use its functions. No function needs a clock or the system's locale. */

import { type Language, localeOf } from '../domain/language.ts';
import { meaningPath, notQualifiedSentence, qualifiedWords } from '../domain/qualification.ts';
import type { Operator } from './operator.ts';
import { escapeHtml, translatorOf, type Value } from './translation.ts';

const known = new Map<Language, Words>();

export type Words = ReturnType<typeof makeWords>;

/** The functions that write sentences, numbers and times in a language. */
export function wordsOf(language: Language): Words {
  const words = known.get(language) ?? makeWords(language);
  known.set(language, words);
  return words;
}

const timePattern = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/;
const timeElement = (iso: string, text: string): string => `<time datetime="${escapeHtml(iso)}">${text}</time>`;

function makeWords(language: Language) {
  const translator = translatorOf(language);
  const { tHtml } = translator;
  const locale = localeOf(language);
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
  const daysOfYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', timeZone: 'UTC' });

  /** Splits a time into its day, `21 November 2026`, its seconds, `11:46:07`, and the digits after them without trailing zeros. */
  function partsOf(iso: string): { readonly day: string; readonly clock: string; readonly fraction: string } {
    const [, day = '', clock = '', fraction = ''] = timePattern.exec(iso) ?? [];
    if (Number.isNaN(Date.parse(day))) throw new RangeError(`not an RFC 3339 time in UTC: ${iso}`);
    return { day: days.format(new Date(day)), clock, fraction: fraction.replace(/0+$/, '') };
  }

  /**
   * Formats an RFC 3339 time in UTC, to the second: `21 November 2026, 11:46:07 UTC`.
   *
   * @throws RangeError if it is not RFC 3339 in UTC
   */
  function timeText(iso: string): string {
    const { day, clock } = partsOf(iso);
    return `${day}, ${clock} UTC`;
  }

  /**
   * Formats the time of a stamp with all digits from its provider, except trailing zeros. genTime may be finer than a millisecond, and a shortened time
   * would be too early.
   *
   * @throws RangeError if it is not RFC 3339 in UTC
   */
  function stampTimeText(iso: string): string {
    const { day, clock, fraction } = partsOf(iso);
    return `${day}, ${clock}${fraction && `.${fraction}`} UTC`;
  }

  /** Formats the day `2026-11-21` as `21 November`. */
  const dayText = (date: string): string => daysOfYear.format(new Date(date));

  /** Makes the `time` element for a time of the service's own clocks (RFC 3339, UTC). */
  const time = (iso: string): string => timeElement(iso, timeText(iso));

  /** Makes the `time` element for the time of a stamp. A recorded value that is not a time is shown unchanged. */
  const stampTime = (iso: string): string =>
    timePattern.test(iso) ? timeElement(iso, stampTimeText(iso)) : `<code>${escapeHtml(iso)}</code>`;

  /** Like `stampTime`, but without the day: `11:46:07.482`. */
  function stampClock(iso: string): string {
    if (!timePattern.test(iso)) return stampTime(iso);
    const { clock, fraction } = partsOf(iso);
    return timeElement(iso, `${clock}${fraction && `.${fraction}`}`);
  }

  /** The day of a time in UTC: `21 November 2026`. Empty for a recorded value that is not a time. */
  const dateText = (iso: string): string => (timePattern.test(iso) ? partsOf(iso).day : '');

  /**
   * Makes the `time` element for a headline, with the minute that a clock shows: `21 November 2026, 11:46 UTC`. `local-time.js` puts the reader's own time
   * first. Write the exact time elsewhere on the page.
   */
  function minute(iso: string): string {
    const { day, clock } = partsOf(iso);
    return `<time datetime="${escapeHtml(iso)}" data-minute>${day}, ${clock.slice(0, 5)} UTC</time>`;
  }

  /** Formats a number: `12,345`, or an en dash if it is unknown. */
  const count = (value: number | null): string => value?.toLocaleString(locale) ?? '–';

  /** Formats a latency: `240 ms`, `1.2 s`, or an en dash if nothing was measured. */
  function latency(ms: number | null): string {
    if (ms === null) return '–';
    if (ms < 1_000) return `${Math.round(ms)} ms`;
    return `${(ms / 1_000).toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`;
  }

  /** Formats a duration in its largest unit and the next smaller unit: `3 days 4 hours`, `12 seconds`. */
  function duration(seconds: number): string {
    let rest = Math.round(seconds);
    const first = units.findIndex((unit) => rest >= unit.seconds);
    const parts = units.slice(first, first < 0 ? undefined : first + 2).map((unit) => {
      const amount = Math.floor(rest / unit.seconds);
      rest -= amount * unit.seconds;
      return { amount, text: amount.toLocaleString(locale, { style: 'unit', unit: unit.name, unitDisplay: 'long' }) };
    });
    const shown = parts.filter(({ amount }) => amount > 0);
    return (shown.length > 0 ? shown : parts.slice(-1)).map(({ text }) => text).join(' ');
  }

  /** The link to the page that explains the words of verdicts. */
  const meaningLink = `<a href="${meaningPath}">${tHtml('What this means')}</a>`;

  /** Says whether a time-stamp is qualified, as HTML with a link to the trusted list that decides. */
  function qualifiedLine(qualification: Parameters<typeof qualifiedWords>[0]): string {
    const { text, list, values } = qualifiedWords(qualification, language);
    const link = list && { html: `<a href="/trusted-lists/${qualification.listed?.listSha256}">${tHtml(list.text, list.values)}</a>` };
    return tHtml(text, { ...values, ...(link && { list: link }) }).replace(/^[^:.,]+/, '<strong>$&</strong>');
  }

  /** Says in plain words what it means that a time-stamp is not qualified, as HTML. The reason is in `qualifiedLine`. */
  const notQualifiedLine = (reason: string | null | undefined): string =>
    `${tHtml(notQualifiedSentence(reason)).replace(/^[^:]+?(?= ?:)/, '<strong>$&</strong>')} ${meaningLink}`;

  return {
    ...{ ...translator, timeText, stampTimeText, dayText, time, stampTime, stampClock, dateText, minute, count, latency, duration },
    ...{ meaningLink, qualifiedLine, notQualifiedLine },
  };
}

const units = [
  { name: 'day', seconds: 86_400 },
  { name: 'hour', seconds: 3_600 },
  { name: 'minute', seconds: 60 },
  { name: 'second', seconds: 1 },
];

/** Formats a hash in groups of eight characters. The line can break between groups, but the hash is copied as one word. */
export function hash(hex: string): string {
  const groups = hex.match(/.{1,8}/g) ?? [];
  return `<code class="hash">${groups.map((group) => `<span>${escapeHtml(group)}</span>`).join('<wbr>')}</code>`;
}

/** Breaks each paragraph of a text into lines of at most 80 characters, for mails. A longer word, such as a link, keeps its line. */
export const wrapped = (text: string): string => text.replace(/(?=.{81})(.{1,80}|\S+)(?: +|$)/gm, '$1\n').trimEnd();

/** HTML as a value in a sentence. */
export const raw = (html: string): Value => ({ html });

/** Makes HTML of a text from a caller, which may run in the other direction. */
export const given = (text: string): string => `<bdi class="given">${escapeHtml(text)}</bdi>`;

/** Names the operator in one line. */
export const operatorText = ({ name, url, contact }: Operator): string => [name, url, contact].filter(Boolean).join(', ');

/** Like `operatorText`, as HTML with a link. */
export const operatorHtml = ({ name, url, contact }: Operator): string =>
  [url ? `<a href="${escapeHtml(url)}">${escapeHtml(name)}</a>` : escapeHtml(name), ...(contact ? [escapeHtml(contact)] : [])].join(', ');

export { developmentSentence } from '../domain/qualification.ts';
export { escapeHtml } from './translation.ts';
