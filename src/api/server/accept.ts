import type {} from '@fastify/accepts';
import type { FastifyRequest } from 'fastify';

/** Whether a client would rather have a page than JSON, as browsers say; who says nothing gets JSON. */
export const prefersPage = (request: FastifyRequest): boolean => request.accepts().type(['json', 'html']) === 'html';

/** Whether a client would rather have JSON than a page, or takes no page at all; who says nothing gets a page. */
export const prefersJson = (request: FastifyRequest): boolean => request.accepts().type(['html', 'json']) !== 'html';
