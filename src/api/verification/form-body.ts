import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BodyReader } from '../server/body-reader.ts';

export const formType = 'application/x-www-form-urlencoded';

/** Reads what a form of a page sends as an object of its fields, in this scope. */
export function registerFormBody(scope: FastifyInstance, reader: BodyReader): void {
  scope.addContentTypeParser(formType, async (request: FastifyRequest, payload: IncomingMessage) => {
    const bytes = await reader.read(request, payload);
    return Object.fromEntries(new URLSearchParams(bytes.toString()));
  });
}
