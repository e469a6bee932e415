import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** The entity tag of a body that is the same for every client. */
export const entityTagOf = (body: string): string => `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;

/** Whether the client has this version already (RFC 9110 §13.1.2): `*`, or a list of entity tags, compared weakly. */
export const isFresh = (request: FastifyRequest, etag: string): boolean =>
  request.headers['if-none-match']?.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, ''))) ?? false;
