import type { FastifyRequest } from 'fastify';
import type { ErrorCode, ServiceError } from '../../shared/domain/service-error.ts';
import { statusOf } from './error-status.ts';

/**
 * The reason why a request was not done. `refused`: a rule does not allow it, which is normal. `failed`: something in the service or a server that it
 * uses did not work.
 */
export interface Fault {
  readonly outcome: 'refused' | 'failed';
  /** The code in the answer, or `validation_failed`, `not_ready`, or the name of a JSON-RPC error. */
  readonly code: string;
  /** For invalid requests: the wrong fields, for example `body.hash string_type`. */
  readonly fields?: readonly string[];
  /** For failures: the error that caused it. */
  readonly err?: unknown;
}

/**
 * Errors that count as refusals although their status is 500 or more, for example no mail server (W19), a full queue, or a program that prefetched a
 * link.
 */
const refusedFromFiveHundred: readonly ErrorCode[] = [
  'tier_unavailable',
  'mail_unavailable',
  'tsa_unavailable',
  'overloaded',
  'prefetch_refused',
];

/** The fault to note for an error. */
export function faultOf(error: ServiceError): Fault {
  const { code } = error;
  if (statusOf[code] < 500 || refusedFromFiveHundred.includes(code)) return { outcome: 'refused', code };
  return { outcome: 'failed', code, err: error.cause ?? error };
}

/** The fault to note for invalid fields. Names inside metadata are the caller's private data and are left out. */
export function validationFault(items: readonly { readonly loc: readonly (string | number)[]; readonly type: string }[]): Fault {
  return {
    outcome: 'refused',
    code: 'validation_failed',
    fields: items.slice(0, 20).map(({ loc, type }) => `${loc.slice(0, 2).join('.')} ${type}`),
  };
}

const noted = new WeakMap<FastifyRequest, Fault[]>();

/** Notes a fault of a request for its log line and the metrics. A request with several messages may have several. */
export function noteFault(request: FastifyRequest, fault: Fault): void {
  noted.set(request, [...(noted.get(request) ?? []), fault]);
}

/**
 * The faults of an answered request. If none was noted, the code depends on the status: the code of the only error with this status, or `status_…`.
 */
export function faultsOf(request: FastifyRequest, status: number): readonly Fault[] {
  const faults = noted.get(request) ?? [];
  if (faults.length > 0 || status < 400) return faults;
  const [code = `status_${status}`, ...others] = Object.entries(statusOf).flatMap(([known, its]) => (its === status ? known : []));
  return [{ outcome: status < 500 ? 'refused' : 'failed', code: others.length === 0 ? code : `status_${status}` }];
}

/** The most serious fault of a request: the first failure, or the first refusal if there is no failure. */
export const worstOf = (faults: readonly Fault[]): Fault | undefined => faults.find(({ outcome }) => outcome === 'failed') ?? faults[0];
