import type { FastifyRequest } from 'fastify';

/** The preferences in a client's `Prefer` header (RFC 7240). */
export interface Preferences {
  /** `respond-async`: the client wants an answer as soon as the request is accepted. */
  readonly respondAsync: boolean;
  /** `wait` in seconds; 0 if it is missing or not valid. */
  readonly waitSeconds: number;
  /** `return=details`: the client wants the members of answers that interface.md does not have (E15). */
  readonly returnDetails: boolean;
}

/** The maximum time that `respond-async` may wait for the outcome, in seconds. */
const longestPatienceSeconds = 30;

/**
 * How many milliseconds `respond-async, wait=…` waits for the outcome before it answers 202 (RFC 7240 §4.3). Undefined without `respond-async`: the
 * client waits as long as the service does.
 */
export const patienceMsOf = ({ respondAsync, waitSeconds }: Preferences): number | undefined =>
  respondAsync ? Math.min(waitSeconds, longestPatienceSeconds) * 1_000 : undefined;

/** The `Preference-Applied` header for `respond-async`. */
export const asyncApplied = (preferences: Preferences): string => {
  const seconds = (patienceMsOf(preferences) ?? 0) / 1_000;
  return seconds > 0 ? `respond-async, wait=${seconds}` : 'respond-async';
};

const none: Preferences = { respondAsync: false, waitSeconds: 0, returnDetails: false };

/** Reads the header. Preferences that are unknown or malformed are ignored (RFC 7240 §2). If a preference is repeated, the first one counts. */
export function readPrefer(given: string | readonly string[] | undefined): Preferences {
  if (given === undefined) return none;
  const said = new Map<string, string>();
  for (const preference of [given].flat().join(',').split(',')) {
    const [name = '', value = ''] = (preference.split(';', 1)[0] ?? '').split('=').map((part) => part.trim().toLowerCase());
    if (!said.has(name)) said.set(name, value.replace(/^"(.*)"$/, '$1'));
  }
  const wait = said.get('wait') ?? '';
  return {
    respondAsync: said.has('respond-async'),
    waitSeconds: /^\d{1,9}$/.test(wait) ? Number(wait) : 0,
    returnDetails: said.get('return') === 'details',
  };
}

/** Whether an answer also has the members that interface.md does not have: `?details=true`, or `Prefer: return=details` (E15). */
export const wantsDetails = (request: FastifyRequest, query: { readonly details: boolean }): boolean =>
  query.details || readPrefer(request.headers.prefer).returnDetails;
