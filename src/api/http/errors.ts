import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorResponse } from '../../shared/contract/error.ts';
import { type Credential, ServiceError } from '../../shared/domain/service-error.ts';
import { wantsPage } from './accept.ts';
import { keepConnection } from './body-reader.ts';
import { sendErrorPage } from './error-page.ts';
import { statusOf } from './error-status.ts';
import { registerNotFound } from './not-found.ts';
import { faultOf, noteFault, validationFault } from './outcome.ts';
import { RequestValidationError } from './validation.ts';

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
