import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { announcedBytes, type BodyReader } from './body-reader.ts';
import { ndjsonType } from './bulk-body.ts';
import { parseJsonText } from './json-text.ts';

const mediaType = 'application/json';

/**
 * Reads a body as JSON, in place of Fastify's parsers, if its content type is missing, `application/json` or `application/*+json`.
 * The body is undefined if it is empty or the operation takes none. Errors: 415 for other types, MalformedJsonError if it is not JSON
 * (E2), and those of the reader.
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

/** An operation without a body in its contract ignores the body. */
const takesBody = ({ routeOptions: { config } }: FastifyRequest): boolean => !config.contract || config.contract.body !== undefined;

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === mediaType) return true;
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return essence === mediaType || /^application\/[^/\s]+\+json$/.test(essence);
}
