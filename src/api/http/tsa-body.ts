import type { FastifyInstance } from 'fastify';
import { sigstoreQuery } from '../../shared/contract/tsa.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { encodeRequest } from '../../shared/rfc3161/index.ts';

/** The most octets of a request: one has about 70. */
export const queryBodyLimit = 4096;
export const queryType = 'application/timestamp-query';
export const replyType = 'application/timestamp-reply';

/** Reads bodies of the door as the DER that they are (RFC 3161 §3.4); some clients send no better type than `application/octet-stream`. */
export function registerQueryBodies(scope: FastifyInstance): void {
  scope.removeContentTypeParser(['application/json', '*']);
  scope.addContentTypeParser([queryType, 'application/octet-stream'], { parseAs: 'buffer' }, ({ headers }, body, done) => {
    const coding = headers['content-encoding'];
    if (coding === undefined || coding.toLowerCase() === 'identity') done(null, body);
    else done(new ServiceError('unsupported_media_type', 'The body must be sent without a content coding.'));
  });
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new ServiceError('unsupported_media_type', `The body must be a TimeStampReq, with Content-Type ${queryType}.`)),
  );
}

/** A number of any size, where it stands in the text. */
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
 * The DER of the TimeStampReq that sigstore's JSON stands for (T5).
 *
 * @throws ServiceError `bad_request`
 */
function derOfJson(text: string): Buffer {
  const parsed = sigstoreQuery.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ServiceError('bad_request', `The body is no request for a time-stamp: ${issue?.path.join('.') || 'it'}: ${issue?.message}.`);
  }
  try {
    return encodeRequest(parsed.data);
  } catch (error) {
    if (error instanceof RangeError) throw new ServiceError('bad_request', `The body is no request for a time-stamp: ${error.message}.`);
    throw error;
  }
}

/** Beside those, reads JSON as sigstore's clients send it. */
export function registerSigstoreBodies(scope: FastifyInstance): void {
  registerQueryBodies(scope);
  scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, derOfJson(String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
}
