// @ts-check
// Shows the reader's local time: first in headlines, in words beside the times in elements with `data-local`, and as a hint on every other time. Readers
// in UTC see nothing new.

/** @param {Date} date @param {Intl.DateTimeFormatOptions} options */
const clockOf = (date, options = {}) => date.toLocaleTimeString('en-GB', { timeStyle: 'short', ...options });

/** @param {Date} date @param {Intl.DateTimeFormatOptions} options */
const dayOf = (date, options = {}) => date.toLocaleDateString('en-GB', { dateStyle: 'long', ...options });

/** A time to the minute, first as the reader's clocks show it: `27 November 2026, 05:16 your time (04:16 UTC)`. @param {string} iso */
export function minuteInWords(iso) {
  const date = new Date(iso);
  const utc = { timeZone: 'UTC' };
  if (date.getTimezoneOffset() === 0) return `${dayOf(date)}, ${clockOf(date)} UTC`;
  if (dayOf(date) === dayOf(date, utc)) return `${dayOf(date)}, ${clockOf(date)} your time (${clockOf(date, utc)} UTC)`;
  return `${dayOf(date)}, ${clockOf(date)} your time (${dayOf(date, utc)}, ${clockOf(date, utc)} UTC)`;
}

/** @param {ParentNode} [within] */
export function showLocalTimes(within = document) {
  for (const element of within.querySelectorAll('time')) {
    const date = new Date(element.dateTime);
    if (element.title || Number.isNaN(date.getTime()) || date.getTimezoneOffset() === 0) continue;
    const isSameDay = date.getDate() === date.getUTCDate();
    const local = isSameDay ? clockOf(date) : `${dayOf(date)}, ${clockOf(date)}`;
    element.title = `${local} in your time zone`;
    if ('minute' in element.dataset) element.textContent = minuteInWords(element.dateTime);
    if (!element.closest('[data-local]')) continue;
    const beside = document.createElement('span');
    beside.className = 'local-time';
    beside.textContent = ` (${local} in your time zone)`;
    element.after(beside);
  }
}

showLocalTimes();
