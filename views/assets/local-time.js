// @ts-check
// Shows the reader's local time: as a hint on every time, and in words beside the times in elements with `data-local`. Readers in UTC see nothing new.

/** @param {Date} date @param {boolean} isSameDay */
const textOf = (date, isSameDay) =>
  date.toLocaleString('en-GB', isSameDay ? { timeStyle: 'short' } : { day: 'numeric', month: 'long', hour: '2-digit', minute: '2-digit' });

/** @param {ParentNode} [within] */
export function showLocalTimes(within = document) {
  for (const element of within.querySelectorAll('time')) {
    const date = new Date(element.dateTime);
    if (element.title || Number.isNaN(date.getTime()) || date.getTimezoneOffset() === 0) continue;
    const local = textOf(date, date.getDate() === date.getUTCDate());
    element.title = `${local} in your time zone`;
    if (!element.closest('[data-local]')) continue;
    const beside = document.createElement('span');
    beside.className = 'local-time';
    beside.textContent = ` (${local} in your time zone)`;
    element.after(beside);
  }
}

showLocalTimes();
