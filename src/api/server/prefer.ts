/** What a client would like, and we may do (RFC 7240). */
export interface Preferences {
  /** `respond-async`: an answer as soon as the request is accepted. */
  readonly respondAsync: boolean;
  /** `wait`: for so many seconds; 0 where it says nothing sensible. */
  readonly waitSeconds: number;
}

/** The longest that a caller who would like an early answer waits for a whole one, seconds. */
const longestPatienceSeconds = 30;

/** How long `respond-async, wait=…` waits for the outcome, milliseconds; then the answer is 202 (RFC 7240 §4.3). */
export const patienceMsOf = ({ waitSeconds }: Preferences): number => Math.min(waitSeconds, longestPatienceSeconds) * 1_000;

/** `Preference-Applied` of an answer to `respond-async`. */
export const asyncApplied = (preferences: Preferences): string => {
  const seconds = patienceMsOf(preferences) / 1_000;
  return seconds > 0 ? `respond-async, wait=${seconds}` : 'respond-async';
};

const none: Preferences = { respondAsync: false, waitSeconds: 0 };

/** Preferences that are not known, or are no tokens, are ignored (RFC 7240 §2); of one that comes twice the first counts. */
export function readPrefer(given: string | readonly string[] | undefined): Preferences {
  if (given === undefined) return none;
  const said = new Map<string, string>();
  for (const preference of [given].flat().join(',').split(',')) {
    const [name = '', value = ''] = (preference.split(';', 1)[0] ?? '').split('=').map((part) => part.trim().toLowerCase());
    if (!said.has(name)) said.set(name, value.replace(/^"(.*)"$/, '$1'));
  }
  const wait = said.get('wait') ?? '';
  return { respondAsync: said.has('respond-async'), waitSeconds: /^\d{1,9}$/.test(wait) ? Number(wait) : 0 };
}
