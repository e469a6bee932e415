import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sigstoreQuery } from '../../shared/contract/tsa.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { encodeRequest } from '../../shared/rfc3161/index.ts';
import type { BodyReader } from '../http/body-reader.ts';

/** The maximum size of a request in bytes. A usual request has about 70. */
export const queryBodyLimit = 4096;
export const queryType = 'application/timestamp-query';
export const replyType = 'application/timestamp-reply';

/**
 * Makes the routes of a scope read bodies as DER (RFC 3161 §3.4). `application/octet-stream` is accepted too, because some clients send only this
 * type.
 */
export function registerQueryBodies(scope: FastifyInstance, reader: BodyReader): void {
  scope.removeContentTypeParser(['application/json', '*']);
  scope.addContentTypeParser([queryType, 'application/octet-stream'], (request: FastifyRequest, payload: IncomingMessage) =>
    reader.read(request, payload),
  );
  const otherType = new ServiceError('unsupported_media_type', `The body must be a TimeStampReq, with Content-Type ${queryType}.`);
  scope.addContentTypeParser('*', async () => Promise.reject(otherType));
}

/** A reviver for `JSON.parse` that reads the nonce from its source text, because the nonce may be larger than a safe integer. */
const withWholeNonce = (key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown =>
  key === 'nonce' && typeof value === 'number' && /^-?\d{1,155}$/.test(source) ? BigInt(source) : value;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, withWholeNonce);
  } catch (error) {
    if (error instanceof SyntaxError) throw new ServiceError('bad_request', 'The body is not JSON.');
    throw error;
  }
}

/**
 * Converts sigstore's JSON into the DER of a TimeStampReq (T5).
 *
 * @throws ServiceError `bad_request`
 */
function derOfJson(text: string): Buffer {
  const parsed = sigstoreQuery.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ServiceError(
      'bad_request',
      `The body is not a request for a time-stamp: ${issue?.path.join('.') || 'body'}: ${issue?.message}.`,
    );
  }
  try {
    return encodeRequest(parsed.data);
  } catch (error) {
    if (error instanceof RangeError) throw new ServiceError('bad_request', `The body is not a request for a time-stamp: ${error.message}.`);
    throw error;
  }
}

/** Like `registerQueryBodies`, and also reads the JSON of sigstore's clients. */
export function registerSigstoreBodies(scope: FastifyInstance, reader: BodyReader): void {
  registerQueryBodies(scope, reader);
  scope.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) =>
    derOfJson((await reader.read(request, payload)).toString()),
  );
}
