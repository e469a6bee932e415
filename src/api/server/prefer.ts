/** Wishes of a client, which we may ignore (RFC 7240). */
export interface Preferences {
  /** `respond-async`: an answer as soon as the request is accepted. */
  readonly respondAsync: boolean;
  /** `wait` in seconds; 0 if its value is not valid. */
  readonly waitSeconds: number;
}

/** The most seconds that `respond-async` may wait for the outcome. */
const longestPatienceSeconds = 30;

/** How many milliseconds `respond-async, wait=…` waits for the outcome before it answers 202 (RFC 7240 §4.3). */
export const patienceMsOf = ({ waitSeconds }: Preferences): number => Math.min(waitSeconds, longestPatienceSeconds) * 1_000;

/** The `Preference-Applied` header for `respond-async`. */
export const asyncApplied = (preferences: Preferences): string => {
  const seconds = patienceMsOf(preferences) / 1_000;
  return seconds > 0 ? `respond-async, wait=${seconds}` : 'respond-async';
};

const none: Preferences = { respondAsync: false, waitSeconds: 0 };

/** Ignores preferences that are unknown or malformed (RFC 7240 §2). If one comes twice, the first counts. */
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
