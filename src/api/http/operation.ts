import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import type { RequestContract } from './validation.ts';

/** The answer of an operation for one status. Without `content` the answer has no body. */
export interface AnswerContract {
  readonly description: string;
  /** By media type: a schema if the body is JSON, null if it is a page or a file. */
  readonly content?: Readonly<Record<string, z.ZodType | null>>;
  /** Extra headers: the meaning of each, by its name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the example of the schema. */
  readonly example?: unknown;
}

/** How a caller identifies itself. */
export type Authentication = 'service' | 'workflow';

/**
 * The input and the answers of a route, declared once. The request parser and the OpenAPI document both use it. Some errors need not be listed: 401
 * for a token, 413, 415 and 503 (`overloaded`) for a body, 422 for any input.
 */
export interface OperationContract extends RequestContract {
  /** The name in generated clients: it begins with a verb, is unique, and never changes. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly authentication?: Authentication;
  /** True if the operation also works without a token, perhaps with fewer functions or less data. */
  readonly isTokenOptional?: true;
  /** Replaces the example of the body's schema. */
  readonly bodyExample?: object | undefined;
  /**
   * Media types of a body that is not JSON. A body that may be JSON or lines is described only as JSON, because code generators make wrong code for a
   * choice.
   */
  readonly bodyTypes?: readonly string[];
  /** True if another protocol has its own rules for the body and checks it, so there is no 422. */
  readonly isJudgedElsewhere?: true;
  readonly answers: Readonly<Record<number, AnswerContract>>;
  /** The codes of failures that are not in `answers`. */
  readonly errors?: readonly ErrorCode[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly contract?: OperationContract;
  }
}

export const json = (description: string, schema: z.ZodType, headers?: AnswerContract['headers']): AnswerContract => ({
  description,
  content: { 'application/json': schema },
  ...(headers && { headers }),
});

/** The answers of a bulk operation whose client waits (L1). */
export const bulkAnswersOf = (schema: z.ZodType): OperationContract['answers'] => {
  const content = { 'application/json': schema, 'application/x-ndjson': null };
  return {
    200: {
      description: 'The result or the error of each item, in their order.',
      content,
      headers: { 'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key made them.' },
    },
    504: {
      description: 'All were accepted, but none finished in time. Each becomes readable at its `verify_url`.',
      content,
      headers: { 'Retry-After': 'Seconds.' },
    },
  };
};

/** Headers of a 202 answer, for a client that prefers not to wait. */
export const acceptedHeaders = {
  Location: 'The address where the outcome can be read.',
  'Preference-Applied': '`respond-async`',
  'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key was accepted.',
};

/** The answer to a bulk request whose client prefers not to wait (N1). */
export const acceptedBulkOf = (schema: z.ZodType): OperationContract['answers'] => {
  const { Location: _, ...headers } = acceptedHeaders;
  const description =
    'Accepted, if the client prefers not to wait (`Prefer: respond-async`). Each item has its address, or the error that stopped it.';
  return { 202: { description, content: { 'application/json': schema, 'application/x-ndjson': null }, headers } };
};

export const page = (description: string): AnswerContract => ({ description, content: { 'text/html': null } });

export const bytes = (description: string, mediaType: string): AnswerContract => ({ description, content: { [mediaType]: null } });

export const empty = (description: string): AnswerContract => ({ description });

/** The preferences in a client's `Prefer` header (RFC 7240). */
interface Preferences {
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

const noPreferences: Preferences = { respondAsync: false, waitSeconds: 0, returnDetails: false };

/** Reads the header. Preferences that are unknown or malformed are ignored (RFC 7240 §2). If a preference is repeated, the first one counts. */
export function readPrefer(given: string | readonly string[] | undefined): Preferences {
  if (given === undefined) return noPreferences;
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

/**
 * Makes a handler for a JSON answer that is the same for every client. It is made for the first request. A client that has it already gets 304 (RFC
 * 9110 §13.1.2): its `If-None-Match` is `*`, or a list of entity tags, which are compared weakly.
 */
export function serveJson(make: () => object): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  let made: { readonly body: string; readonly etag: string } | undefined;
  const describe = (body: string) => ({ body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` });
  return (request, reply) => {
    made ??= describe(JSON.stringify(make()));
    const { body, etag } = made;
    reply.headers({ ETag: etag, 'Cache-Control': 'public, max-age=300' });
    const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
    if (known.includes('*') || known.includes(etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  };
}
