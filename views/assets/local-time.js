// @ts-check
// Shows the reader's local time: first in headlines, in words beside the times in elements with `data-local`, and as a hint on every other time. Readers
// in UTC see nothing new.
import { locale, t } from './words.js';

/** @param {Date} date @param {Intl.DateTimeFormatOptions} options */
const clockOf = (date, options = {}) => date.toLocaleTimeString(locale, { timeStyle: 'short', ...options });

/** @param {Date} date @param {Intl.DateTimeFormatOptions} options */
const dayOf = (date, options = {}) => date.toLocaleDateString(locale, { dateStyle: 'long', ...options });

/** A time to the minute, first as the reader's clocks show it: `27 November 2026, 05:16 your time (04:16 UTC)`. @param {string} iso */
export function minuteInWords(iso) {
  const date = new Date(iso);
  const utc = { timeZone: 'UTC' };
  if (date.getTimezoneOffset() === 0) return `${dayOf(date)}, ${clockOf(date)} UTC`;
  const utcClock = dayOf(date) === dayOf(date, utc) ? clockOf(date, utc) : `${dayOf(date, utc)}, ${clockOf(date, utc)}`;
  return t('{local} your time ({utc} UTC)', { local: `${dayOf(date)}, ${clockOf(date)}`, utc: utcClock });
}

/** @param {ParentNode} [within] */
export function showLocalTimes(within = document) {
  for (const element of within.querySelectorAll('time')) {
    const date = new Date(element.dateTime);
    if (element.title || Number.isNaN(date.getTime()) || date.getTimezoneOffset() === 0) continue;
    const isSameDay = date.getDate() === date.getUTCDate();
    const local = isSameDay ? clockOf(date) : `${dayOf(date)}, ${clockOf(date)}`;
    element.title = t('{local} in your time zone', { local });
    if ('minute' in element.dataset) element.textContent = minuteInWords(element.dateTime);
    if (!element.closest('[data-local]')) continue;
    const beside = document.createElement('span');
    beside.className = 'local-time';
    beside.textContent = ` (${element.title})`;
    element.after(beside);
  }
}

showLocalTimes();
