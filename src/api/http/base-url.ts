import type { FastifyRequest } from 'fastify';

/**
 * Where the reader of a page reached the service, without a last slash: `PUBLIC_BASE_URL`, or what the request itself says. Good for
 * that reader alone: a mail must not be led by a header.
 */
export const baseUrlOf = (request: FastifyRequest, publicBaseUrl: string | undefined): string =>
  publicBaseUrl ?? `${request.protocol}://${request.host}`;
