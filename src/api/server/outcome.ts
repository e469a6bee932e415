import type { FastifyRequest } from 'fastify';
import type { ErrorCode, ServiceError } from '../../shared/domain/service-error.ts';
import { statusOf } from './error-status.ts';

/** Why a request was not done. `refused`: a rule stopped it, which is normal. `failed`: something in the service or around it did not work. */
export interface Fault {
  readonly outcome: 'refused' | 'failed';
  /** The code in the answer, or `validation_failed`, `not_ready`, or a code of JSON-RPC. */
  readonly code: string;
  /** If refused: the wrong fields, like `body.hash string_type`. */
  readonly fields?: readonly string[];
  /** If failed: the real error. */
  readonly err?: unknown;
}

/** Errors with a status of 500 or more that are refusals: no mail server (W19), a full queue, a program that prefetched a link. */
const refusedFromFiveHundred: readonly ErrorCode[] = [
  'tier_unavailable',
  'mail_unavailable',
  'tsa_unavailable',
  'overloaded',
  'prefetch_refused',
];

/** The fault for an error. */
export function faultOf(error: ServiceError): Fault {
  const { code } = error;
  if (statusOf[code] < 500 || refusedFromFiveHundred.includes(code)) return { outcome: 'refused', code };
  return { outcome: 'failed', code, err: error.cause ?? error };
}

/** The fault for invalid fields. Names inside metadata are the caller's private data and are left out. */
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

/** The faults of an answered request. If none was noted, the status gives the code: the only error with that status, else `status_…`. */
export function faultsOf(request: FastifyRequest, status: number): readonly Fault[] {
  const faults = noted.get(request) ?? [];
  if (faults.length > 0 || status < 400) return faults;
  const [code = `status_${status}`, ...others] = Object.entries(statusOf).flatMap(([known, its]) => (its === status ? known : []));
  return [{ outcome: status < 500 ? 'refused' : 'failed', code: others.length === 0 ? code : `status_${status}` }];
}

/** The most serious fault of a request: a failure before a refusal. */
export const worstOf = (faults: readonly Fault[]): Fault | undefined => faults.find(({ outcome }) => outcome === 'failed') ?? faults[0];
