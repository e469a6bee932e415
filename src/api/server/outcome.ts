import type { FastifyRequest } from 'fastify';
import type { ErrorCode, ServiceError } from '../../shared/domain/service-error.ts';
import { statusOf } from './error-status.ts';

/** Why a request was not done. `refused`: by a rule, and all is as it should be. `failed`: something of ours, or around us, did not work. */
export interface Fault {
  readonly outcome: 'refused' | 'failed';
  /** The code that the answer names, or one of `validation_failed`, `not_ready` and JSON-RPC's own. */
  readonly code: string;
  /** Refused: the fields that were wrong, as `body.hash string_type`. */
  readonly fields?: readonly string[];
  /** Failed: what really happened. */
  readonly err?: unknown;
}

/** The errors of status 500 and above by which nothing failed: W19, a full queue, a link that a program looked at. */
const refusedFromFiveHundred: readonly ErrorCode[] = [
  'tier_unavailable',
  'mail_unavailable',
  'tsa_unavailable',
  'overloaded',
  'prefetch_refused',
];

/** What an error makes of its request. */
export function faultOf(error: ServiceError): Fault {
  const { code } = error;
  if (statusOf[code] < 500 || refusedFromFiveHundred.includes(code)) return { outcome: 'refused', code };
  return { outcome: 'failed', code, err: error.cause ?? error };
}

/** What faulty fields make of their request; names of fields within metadata are the caller's own, and stay out. */
export function validationFault(items: readonly { readonly loc: readonly (string | number)[]; readonly type: string }[]): Fault {
  return {
    outcome: 'refused',
    code: 'validation_failed',
    fields: items.slice(0, 20).map(({ loc, type }) => `${loc.slice(0, 2).join('.')} ${type}`),
  };
}

const noted = new WeakMap<FastifyRequest, Fault[]>();

/** Notes a fault of a request for its line in the log and for the metrics. A request of several messages may have several. */
export function noteFault(request: FastifyRequest, fault: Fault): void {
  noted.set(request, [...(noted.get(request) ?? []), fault]);
}

/** The faults of an answered request. An answer that nobody explained is named by its status, unless only one error has that status. */
export function faultsOf(request: FastifyRequest, status: number): readonly Fault[] {
  const faults = noted.get(request) ?? [];
  if (faults.length > 0 || status < 400) return faults;
  const [code = `status_${status}`, ...others] = Object.entries(statusOf).flatMap(([known, its]) => (its === status ? known : []));
  return [{ outcome: status < 500 ? 'refused' : 'failed', code: others.length === 0 ? code : `status_${status}` }];
}

/** The fault that decides what a request is called: a failure before a refusal. */
export const worstOf = (faults: readonly Fault[]): Fault | undefined => faults.find(({ outcome }) => outcome === 'failed') ?? faults[0];
