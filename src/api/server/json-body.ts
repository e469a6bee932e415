import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { announcedBytes, type BodyReader } from './body-reader.ts';
import { ndjsonType } from './bulk-body.ts';
import { parseJsonText } from './json-text.ts';

const mediaType = 'application/json';

/**
 * Replaces Fastify's parsers: a body is read as JSON if its content type is missing, `application/json` or `application/*+json`. `request.body` is
 * undefined if the body is empty or the operation takes no body. Other content types get 415; a body that is not JSON is a MalformedJsonError (E2);
 * the reader may throw its own errors.
 */
export function registerJsonBody(app: FastifyInstance, reader: BodyReader): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser([mediaType, '*'], async (request: FastifyRequest, payload: IncomingMessage) => {
    if (request.is404 || announcedBytes(request) === 0 || !takesBody(request)) {
      return undefined;
    }
    if (!isJson(request.headers['content-type'])) {
      const orLines = request.server.hasContentTypeParser(ndjsonType) ? `, or lines of JSON, with ${ndjsonType}` : '';
      const detail = `The body must be JSON, with Content-Type application/json${orLines}.`;
      throw new ServiceError('unsupported_media_type', detail);
    }
    const bytes = await reader.read(request, payload);
    return bytes.length === 0 ? undefined : parseJsonText(bytes);
  });
}

/** Whether a route reads a body. If its contract has no body, a body is ignored. */
const takesBody = ({ routeOptions: { config } }: FastifyRequest): boolean => !config.contract || config.contract.body !== undefined;

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === mediaType) return true;
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return essence === mediaType || /^application\/[^/\s]+\+json$/.test(essence);
}
