import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorResponse } from '../../shared/contract/error.ts';
import { type Credential, type ErrorCode, ServiceError, statusOf } from '../../shared/domain/service-error.ts';
import { keepConnection } from './body-reader.ts';
import { RequestValidationError } from './validation.ts';
import { sendErrorPage, wantsPage } from './views.ts';

/** For statuses that ask the client to try again: the seconds to wait if the error itself does not say. */
const defaultRetryAfterSeconds: Readonly<Record<number, number>> = { 429: 1, 503: 2, 504: 1 };

/** The value of `WWW-Authenticate` for each kind of missing token. */
const schemeOf = {
  service_token: 'ServiceToken',
  workflow_token: 'Workflow',
  basic: 'Basic realm="qstamp", charset="UTF-8"',
} as const satisfies Record<Credential, string>;

/** The public body of an expected error (E3). Extra members of an error never replace the three members that every error has. */
export function errorBody(error: ServiceError, requestId: string): ErrorResponse {
  return { ...error.members, detail: error.message, code: error.code, request_id: requestId };
}

/**
 * Registers the handler that turns every error into an answer: invalid requests become 422 with their items, expected errors get their code,
 * everything else becomes 500 without the cause. A browser gets a page.
 */
export function registerErrorHandler(app: FastifyInstance): void {
  registerNotFound(app);
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    keepConnection(error, request, reply);
    if (error instanceof RequestValidationError) return sendInvalid(error, request, reply);
    return sendServiceError(toServiceError(error), request, reply);
  });
}

function sendInvalid({ detail }: RequestValidationError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  noteFault(request, validationFault(detail));
  if (!wantsPage(request)) return reply.code(422).send({ detail });
  return sendErrorPage(request, reply, { status: 422, detail: 'The request is not valid.', retryAfterSeconds: null });
}

function sendServiceError(error: ServiceError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = statusOf[error.code];
  noteFault(request, faultOf(error));
  const retryAfterSeconds = error.retryAfterSeconds ?? defaultRetryAfterSeconds[status];
  const wait = retryAfterSeconds === undefined ? null : Math.max(1, Math.ceil(retryAfterSeconds));
  if (wait !== null) reply.header('Retry-After', String(wait));
  if (error.credential !== undefined) reply.header('WWW-Authenticate', schemeOf[error.credential]);
  if (wantsPage(request)) return sendErrorPage(request, reply, { status, detail: error.message, retryAfterSeconds: wait });
  return reply.code(status).send(errorBody(error, request.id));
}

/**
 * The answers to refusals by Fastify and its plugins, by status. Their own messages are not shown, because they may contain internal details such as
 * a file path.
 */
const refusals: Readonly<Record<number, ServiceError>> = {
  404: new ServiceError('not_found', 'There is nothing at this address.'),
  405: new ServiceError('method_not_allowed', 'The method is not allowed at this address.'),
  413: new ServiceError('payload_too_large', 'The body is too large.'),
  415: new ServiceError('unsupported_media_type', 'The body must be JSON, with Content-Type application/json.'),
};
const badRequest = new ServiceError('bad_request', 'The request cannot be understood.');

/**
 * Converts any error to a ServiceError for the client: refusals by Fastify and its plugins by their status, everything unexpected to
 * `internal_error`.
 */
export function toServiceError(cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  const error = cause as FastifyError;
  const { statusCode = 500 } = error;
  const isRefusal = statusCode >= 400 && statusCode < 500 && (isFrom(error, 'FST_') || ('expose' in error && error.expose === true));
  if (isRefusal) return refusals[statusCode] ?? badRequest;
  return new ServiceError('internal_error', 'Something went wrong on our side.', { cause: error });
}

const isFrom = (error: FastifyError, prefix: string): boolean => typeof error.code === 'string' && error.code.startsWith(prefix);

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

/**
 * Answers requests that match no route (E8): 405 with `Allow` if the path takes other methods, otherwise 404. If a path is exactly the path of a
 * route, it never matches a parameter of another route, so `GET /api/v1/workflow/start` is 405. Register it before the routes.
 */
function registerNotFound(app: FastifyInstance): void {
  const knownPaths = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  app.addHook('onRoute', ({ url, method }) => {
    // The CORS plugin registers this route; it is not a real path.
    if (url === '*') return;
    const known = knownPaths.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    knownPaths.set(url, known);
    for (const name of [method].flat()) known.methods.add(name);
  });

  const methodsAt = (path: string): string[] => {
    const own = knownPaths.get(path);
    const known = own ? [own] : [...knownPaths.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(known.flatMap(({ methods }) => [...methods]))].sort();
  };

  /** Names the paths with one more segment, because the last segment may have been forgotten: the tier of a stamp (E16). */
  const nothingAt = (path: string): ServiceError => {
    const below = [...knownPaths.keys()].filter((known) => known.startsWith(`${path}/`) && /^[^/:]+$/.test(known.slice(path.length + 1)));
    if (path === '' || below.length === 0) return refusals[404]!;
    return new ServiceError('not_found', `There is nothing at this address, but there is at ${below.join(', ')}.`);
  };

  const refusalOf = ({ url }: FastifyRequest, reply: FastifyReply): ServiceError => {
    const path = pathOf(url);
    const allowed = methodsAt(decodeURI(path)).join(', ');
    if (allowed === '') return nothingAt(path.replace(/\/$/, ''));
    reply.header('Allow', allowed);
    return new ServiceError('method_not_allowed', `${path.slice(0, 200)} takes ${allowed}.`);
  };

  app.addHook('onRequest', async (request, reply) => {
    const { url = '' } = request.routeOptions;
    const path = pathOf(request.url);
    const isOthers = url !== path && url !== '*' && knownPaths.get(path)?.methods.has(request.method) === false;
    if (isOthers) throw refusalOf(request, reply);
  });

  app.setNotFoundHandler((request, reply) => {
    throw refusalOf(request, reply);
  });
}

/** Turns a route's path into a regular expression: `:name` matches one segment. */
const patternOf = (url: string): RegExp => {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? '[^/]+' : RegExp.escape(segment)));
  return new RegExp(`^${segments.join('/')}$`);
};

const pathOf = (address: string): string => address.split('?', 1)[0] ?? '';
