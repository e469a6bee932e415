import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import type { BodyReader } from '../server/body-reader.ts';
import { createImprintHash } from '../server/imprint-hash.ts';
import { RequestValidationError } from '../server/validation.ts';
import { missingBody } from '../server/validation-items.ts';

export const contentType = 'application/octet-stream';

/** Reads the bodies of a scope as content, of which nothing but its hashes is kept. `limitOf`: the most bytes that a caller may send. */
export function registerContentBodies(scope: FastifyInstance, reader: BodyReader, limitOf: (request: FastifyRequest) => number): void {
  scope.removeContentTypeParser(['application/json', '*']);
  scope.addContentTypeParser(contentType, (request: FastifyRequest, payload: IncomingMessage) =>
    reader.digest(request, payload, limitOf(request)),
  );
  const otherType = new ServiceError('unsupported_media_type', `The body must be the content itself, with Content-Type ${contentType}.`);
  scope.addContentTypeParser('*', async () => Promise.reject(otherType));
}

/** The hashes of a body. @throws RequestValidationError where there is none */
export function contentDigestsIn({ body, headers }: FastifyRequest): readonly Imprint[] {
  if (Array.isArray(body)) return body as readonly Imprint[];
  // No parser is asked for an empty body: it is the content of an empty file where it has the type of one.
  if (headers['content-type']?.startsWith(contentType)) return createImprintHash().imprints();
  throw new RequestValidationError([missingBody]);
}
