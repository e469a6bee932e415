import type { z } from 'zod';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import type { RequestContract } from './validation.ts';

/** The answer of an operation for one status; without `content` it has no body. */
export interface AnswerContract {
  readonly description: string;
  /** By media type: a schema if the body is JSON, null if it is a page or a file. */
  readonly content?: Readonly<Record<string, z.ZodType | null>>;
  /** Extra headers: name and meaning. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the example of the schema. */
  readonly example?: unknown;
}

/** How a caller identifies itself. */
export type Authentication = 'service' | 'workflow';

/**
 * The input and the answers of a route, declared once. The request parser and the OpenAPI document both use it. Some errors need not be
 * listed: 413 and 415 for a body, 422 for any input, 401 for a token.
 */
export interface OperationContract extends RequestContract {
  /** The name in generated clients: it begins with a verb, is unique, and never changes. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly authentication?: Authentication;
  /** The operation also works without a token, and then answers less. */
  readonly isTokenOptional?: true;
  /** An example for this body, if the example of its schema does not fit. */
  readonly bodyExample?: object | undefined;
  /** Media types of a body that is not JSON. A body that may also be lines is described only as JSON: generators make wrong code from a choice. */
  readonly bodyTypes?: readonly string[];
  /** The body follows the rules of another protocol, which checks it: no 422. */
  readonly isJudgedElsewhere?: true;
  readonly answers: Readonly<Record<number, AnswerContract>>;
  /** Failures by code, beside `answers`. */
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

/** The answers of a bulk operation, whether its items succeed or fail (L1). */
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

/** Headers of a 202, for a client that prefers not to wait. */
export const acceptedHeaders = {
  Location: 'The address where the outcome can be read.',
  'Preference-Applied': '`respond-async`',
  'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key was accepted.',
};

/** The answer to a bulk request whose client prefers not to wait (N1). */
export const acceptedBulkOf = (schema: z.ZodType): OperationContract['answers'] => ({
  202: {
    description:
      'Accepted, if the client prefers not to wait (`Prefer: respond-async`). Each item has its address, or the error that stopped it.',
    content: { 'application/json': schema, 'application/x-ndjson': null },
    headers: {
      'Preference-Applied': acceptedHeaders['Preference-Applied'],
      'Idempotent-Replayed': acceptedHeaders['Idempotent-Replayed'],
    },
  },
});

export const page = (description: string): AnswerContract => ({ description, content: { 'text/html': null } });

export const bytes = (description: string, mediaType: string): AnswerContract => ({ description, content: { [mediaType]: null } });

export const empty = (description: string): AnswerContract => ({ description });
