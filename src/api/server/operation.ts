import type { z } from 'zod';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import type { RequestContract } from './validation.ts';

/** What one status of an operation answers with; without `content` it has no body. */
export interface AnswerContract {
  readonly description: string;
  /** By media type: a schema where the body is JSON, null where it is a page or a file. */
  readonly content?: Readonly<Record<string, z.ZodType | null>>;
  /** Headers beside those that every answer has: name and meaning. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the example of its schema. */
  readonly example?: unknown;
}

/** How a caller proves who it is. */
export type Authentication = 'service' | 'workflow';

/**
 * Everything that a route takes and answers, declared once. The request parser and the OpenAPI document both use it. Errors that follow
 * from the rest need not be listed: 413 and 415 of a body, 422 of anything that is read, 401 of a token.
 */
export interface OperationContract extends RequestContract {
  /** Its name in generated clients: a verb first, unique, and never changed. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly authentication?: Authentication;
  /** The operation also works without a token, and then answers less. */
  readonly isTokenOptional?: true;
  /** Of this operation's body, where the one of its schema does not fit. */
  readonly bodyExample?: object | undefined;
  /** Where the body is no JSON. Of one that may be lines too only the JSON is described: generators make wrong code of a choice. */
  readonly bodyTypes?: readonly string[];
  /** The body is documented here and judged by rules of another protocol: no 422. */
  readonly isJudgedElsewhere?: true;
  readonly answers: Readonly<Record<number, AnswerContract>>;
  /** Failures beside them, by code. */
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

/** What an operation on many items answers, whatever becomes of each (L1). */
export const bulkAnswersOf = (schema: z.ZodType): OperationContract['answers'] => {
  const content = { 'application/json': schema, 'application/x-ndjson': null };
  return {
    200: {
      description: 'What was made of each item, or why nothing was, in their order.',
      content,
      headers: { 'Idempotent-Replayed': '`true` where an earlier request with the same Idempotency-Key made them.' },
    },
    504: {
      description: 'All were accepted and none is finished in time: each becomes readable at its `verify_url`.',
      content,
      headers: { 'Retry-After': 'Seconds.' },
    },
  };
};

/** Of a 202 that a client preferred to waiting (N1). */
export const acceptedHeaders = {
  Location: 'Where the outcome is told.',
  'Preference-Applied': '`respond-async`',
  'Idempotent-Replayed': '`true` where an earlier request with the same Idempotency-Key was accepted.',
};

/** What a bulk request is answered where its client prefers not to wait (N1). */
export const acceptedBulkOf = (schema: z.ZodType): OperationContract['answers'] => ({
  202: {
    description:
      'Accepted, where the client prefers not to wait (`Prefer: respond-async`), and on its way: each item names its address, or says why it is not.',
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
