import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { announcedBytes, type BodyReader } from './body-reader.ts';
import { ndjsonType } from './bulk-body.ts';
import { parseJsonText } from './json-text.ts';
import { noteWrittenBody, OtherBody } from './validation.ts';

const mediaType = 'application/json';

/** A media type with its parameters (RFC 9110 §8.3.1). */
const mediaTypePattern = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;
/** Stands for a content type that is no media type. No route accepts it. */
const noMediaType = 'unknown/unknown';

/**
 * Replaces Fastify's parsers: a body is read as JSON if its content type is missing, `application/json` or `application/*+json`. A body of another
 * content type becomes an `OtherBody`, which breaks the contract of every operation (E8). `request.body` is undefined if the body is empty or the
 * operation takes no body. A body that is not JSON is a MalformedJsonError (E2); the reader may throw its own errors.
 */
export function registerJsonBody(app: FastifyInstance, reader: BodyReader): void {
  app.removeAllContentTypeParsers();
  // Fastify refuses a content type that is no media type before it calls a parser.
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const given = headers['content-type'];
    if (given !== undefined && !mediaTypePattern.test(given)) headers['content-type'] = noMediaType;
    done();
  });
  app.addContentTypeParser([mediaType, '*'], async (request: FastifyRequest, payload: IncomingMessage) => {
    if (request.is404 || announcedBytes(request) === 0 || !takesBody(request)) {
      return undefined;
    }
    const bytes = await reader.read(request, payload);
    if (bytes.length === 0) return undefined;
    if (!isJson(request.headers['content-type'])) return new OtherBody(bytes, typesOf(request));
    const { value, written } = parseJsonText(bytes);
    if (written !== value) noteWrittenBody(request, written);
    return value;
  });
}

/** Whether a route reads a body. If its contract has no body, a body is ignored. */
const takesBody = ({ routeOptions: { config } }: FastifyRequest): boolean => !config.contract || config.contract.body !== undefined;

/** The content types that a route accepts. */
const typesOf = ({ routeOptions: { config }, server }: FastifyRequest): readonly string[] =>
  config.contract?.bodyTypes ?? [mediaType, ...(server.hasContentTypeParser(ndjsonType) ? [ndjsonType] : [])];

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === mediaType) return true;
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return essence === mediaType || /^application\/[^/\s]+\+json$/.test(essence);
}
