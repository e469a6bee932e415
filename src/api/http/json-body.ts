import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type ByteBudget, createByteBudget } from './byte-budget.ts';
import { createContinuations } from './expect-continue.ts';
import { parseJsonText } from './json-text.ts';
import { discard, receive } from './receive.ts';

export interface JsonBodyOptions {
  /** Shared by all bodies above `largeBytes`; of one process. */
  readonly budget?: ByteBudget;
  /** Bodies up to this size are read without a reservation. */
  readonly largeBytes?: number;
}

const defaultBudgetBytes = 128 * 1024 * 1024;
const defaultLargeBytes = 1024 * 1024;

const mediaType = 'application/json';

/**
 * Reads every body as JSON, in place of Fastify's parsers: no content type, `application/json` and `application/*+json`.
 * A body that is empty, or that the operation does not have, reads as undefined. Errors: 415 for other types and for content codings,
 * 413 above the route's `bodyLimit`, MalformedJsonError for what is not JSON, 503 when a large body is not admitted in time (E2, E8, E10).
 */
export function registerJsonBody(app: FastifyInstance, options: JsonBodyOptions = {}): void {
  const { budget = createByteBudget({ maxBytes: defaultBudgetBytes }), largeBytes = defaultLargeBytes } = options;
  const replies = new WeakMap<FastifyRequest, FastifyReply>();
  const continuations = createContinuations(app.server);

  const reserve = async (request: FastifyRequest, bytes: number) => {
    const reservation = budget.reserve(bytes);
    replies.get(request)?.raw.once('close', reservation.release);
    await reservation.granted;
  };

  app.removeAllContentTypeParsers();

  app.addHook('preParsing', (request, reply, payload, done) => {
    // Another media type has a parser of its own, which knows nothing of clients that wait to be asked.
    const { bodyLimit } = request.routeOptions;
    if (!isJson(request.headers['content-type']) && (declaredBytes(request) ?? 0) <= bodyLimit) continuations.send(request.raw);
    if (!request.is404 && (declaredBytes(request) ?? Number.POSITIVE_INFINITY) > largeBytes) replies.set(request, reply);
    done(null, payload);
  });

  app.addContentTypeParser([mediaType, '*'], async (request: FastifyRequest, payload: IncomingMessage) => {
    const declared = declaredBytes(request);
    if (request.is404 || declared === 0 || !takesBody(request)) {
      payload.resume();
      return undefined;
    }
    const limit = request.routeOptions.bodyLimit;
    const refusal = refusalOf(request, declared, limit);
    if (refusal) {
      if (!continuations.isAwaited(request.raw)) await discard(payload);
      throw refusal;
    }
    if (declared !== undefined && declared > largeBytes) await reserve(request, declared);
    continuations.send(request.raw);
    const bytes = await receive(payload, {
      limit,
      pauseAt: declared === undefined ? largeBytes : undefined,
      whilePaused: () => reserve(request, limit),
    });
    return bytes.length === 0 ? undefined : parseJsonText(bytes);
  });
}

/** An operation whose contract names no body does not look at one. */
const takesBody = ({ routeOptions: { config } }: FastifyRequest): boolean => !config.contract || config.contract.body !== undefined;

/** Undefined where the body comes in chunks; Node has checked that the header is a number. */
function declaredBytes({ headers }: FastifyRequest): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

function refusalOf({ headers }: FastifyRequest, declared: number | undefined, limit: number): ServiceError | undefined {
  if (!isJson(headers['content-type'])) {
    return new ServiceError('unsupported_media_type', 'The body must be JSON, with Content-Type application/json.');
  }
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    return new ServiceError('unsupported_media_type', 'The body must be sent without a content coding.');
  }
  return declared !== undefined && declared > limit ? tooLarge(limit) : undefined;
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === mediaType) return true;
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return essence === mediaType || /^application\/[^/\s]+\+json$/.test(essence);
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError('payload_too_large', `The body may have at most ${limit} bytes.`);
}
