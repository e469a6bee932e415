import type {} from '@fastify/accepts';
import type { FastifyRequest } from 'fastify';

/** Whether a client prefers a page to JSON, like a browser. The default is JSON. */
export const prefersPage = (request: FastifyRequest): boolean => request.accepts().type(['json', 'html']) === 'html';

/** Whether a client prefers JSON to a page, or accepts no page. The default is a page. */
export const prefersJson = (request: FastifyRequest): boolean => request.accepts().type(['html', 'json']) !== 'html';
