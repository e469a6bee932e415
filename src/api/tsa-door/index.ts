import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sigstoreQuery, sigstoreQueryShown, timeStampQuery } from '../../shared/contract/tsa.ts';
import { addressesUnder, verifyPath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { encodeRequest } from '../../shared/rfc3161/index.ts';
import type { BodyReader } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { createServicePasswords } from '../http/credentials.ts';
import { noteFault } from '../http/errors.ts';
import { bytes, type OperationContract } from '../http/operation.ts';
import { callerIdOf, type LimitHook } from '../http/rate-limits.ts';
import type { StampTools } from '../stamps/index.ts';
import { answerQuery, readCertificateChain } from './tsa-door.ts';

const queryType = 'application/timestamp-query';

export const replyType = 'application/timestamp-reply';

const headers = {
  'Qstamp-Stamp-Id': 'The id of the stamp.',
  Link: 'The address of the stamp, with `rel="describedby"`.',
};
const reply = { ...bytes('A TimeStampResp, DER: granted, or the reason for refusal (PKIStatusInfo).', replyType), headers };

const shared = {
  tag: 'RFC 3161',
  isJudgedElsewhere: true,
  errors: ['bad_request', 'rate_limited', 'tsa_unavailable', 'queue_unavailable', 'store_unavailable', 'overloaded'],
} as const;

const queryContract = (id: string, summary: string): OperationContract => ({
  ...shared,
  id,
  summary,
  description: `RFC 3161 §3.4, for every program that needs the address of a TSA. \`application/octet-stream\` is accepted too.`,
  bodyTypes: [queryType],
  body: timeStampQuery,
  answers: { 200: reply },
});

const sigstoreContract: OperationContract = {
  ...shared,
  id: 'stampSigstore',
  summary: "A time-stamp for sigstore's clients",
  description: `A \`${queryType}\` is accepted here too.`,
  body: sigstoreQueryShown,
  bodyExample: {
    artifactHash: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=',
    hashAlgorithm: 'sha256',
    certificates: true,
    nonce: 1234567890,
  },
  answers: { 200: { ...reply, headers: {}, description: 'A TimeStampResp that is not granted.' }, 201: reply },
};

const chainContract = (id: string): OperationContract => ({
  tag: shared.tag,
  id,
  summary: 'The certificates of the TSA, PEM',
  description: 'From the signer to the trust anchor, for the most preferred provider that has answered.',
  answers: { 200: bytes('The certificates.', 'application/pem-certificate-chain') },
  errors: ['rate_limited', 'tsa_unavailable', 'queue_unavailable'],
});

/** Registers the endpoints for RFC 3161 clients, also at the paths that sigstore's clients use (T1). */
export function registerTsaDoor(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const { config, reader, mistakes, limitDoor: limited } = context;
  if (config.TSA_DOOR === 'off') return;
  const addressOf = addressesUnder(config.PUBLIC_BASE_URL);
  /** Undefined if clients need no token. */
  const identify = config.TSA_DOOR === 'token' ? createServicePasswords(config.SERVICE_TOKENS) : undefined;

  const authenticated: LimitHook = async (request, reply) => {
    if (!identify || identify(request) !== undefined) return;
    // An HTTP Basic client may first send no password and wait for the challenge (RFC 7617 §2), so a request without the header does not count as a
    // mistake.
    if (request.headers.authorization !== undefined) await mistakes.wrongToken(request, reply);
    throw new ServiceError('unauthorized', 'A service token is required, as the password of HTTP Basic or as a bearer token.', {
      credential: 'basic',
    });
  };
  const onRequest = [limited, authenticated];

  const answer = async (request: FastifyRequest, reply: FastifyReply, grantedStatus: 200 | 201) => {
    const der = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const product = identify?.(request);
    const query = { der, product, callerId: callerIdOf(request, product), requestId: request.id };
    const { der: answered, isGranted, failure, tokenId, retryAfterSeconds } = await answerQuery(tools, query);
    if (failure === 'systemFailure' || failure === 'timeNotAvailable') noteFault(request, { outcome: 'failed', code: 'provider_failed' });
    else if (failure !== undefined) noteFault(request, { outcome: 'refused', code: failure });
    if (tokenId !== undefined) {
      reply.header('Qstamp-Stamp-Id', tokenId);
      reply.header('Link', `<${addressOf(verifyPath(tokenId))}>; rel="describedby"`);
    }
    if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds));
    return reply
      .code(isGranted ? grantedStatus : 200)
      .type(replyType)
      .send(answered);
  };

  app.register(async (scope) => {
    registerQueryBodies(scope, reader);
    const contracts = {
      '/api/v1/tsa': queryContract('stampQuery', 'A time-stamp'),
      '/tsa': queryContract('stampQueryAlias', 'A time-stamp, at a short address'),
    };
    for (const [path, contract] of Object.entries(contracts)) {
      scope.post(path, { onRequest, bodyLimit: queryBodyLimit, config: { contract } }, (request, reply) => answer(request, reply, 200));
    }
  });
  app.register(async (scope) => {
    registerSigstoreBodies(scope, reader);
    const options = { onRequest, bodyLimit: queryBodyLimit, config: { contract: sigstoreContract } };
    scope.post('/api/v1/timestamp', options, (request, reply) => answer(request, reply, 201));
  });

  const chains = { '/api/v1/tsa/certchain': 'readTsaCertificates', '/api/v1/timestamp/certchain': 'readSigstoreCertificates' };
  for (const [path, id] of Object.entries(chains)) {
    app.get(path, { onRequest: limited, config: { contract: chainContract(id) } }, async (_request, reply) =>
      reply.type('application/pem-certificate-chain').send(await readCertificateChain(tools)),
    );
  }
}

/** The maximum size of a request in bytes. A usual request has about 70. */
const queryBodyLimit = 4096;

/**
 * Makes the routes of a scope read bodies as DER (RFC 3161 §3.4). `application/octet-stream` is accepted too, because some clients send only this
 * type.
 */
function registerQueryBodies(scope: FastifyInstance, reader: BodyReader): void {
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

/**
 * Converts sigstore's JSON into the DER of a TimeStampReq (T5).
 *
 * @throws ServiceError `bad_request`
 */
function derOfJson(text: string): Buffer {
  const refusal = (why: string) => new ServiceError('bad_request', `The body is not ${why}.`);
  const request = 'a request for a time-stamp';
  let given: unknown;
  try {
    given = JSON.parse(text, withWholeNonce);
  } catch {
    throw refusal('JSON');
  }
  const parsed = sigstoreQuery.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refusal(`${request}: ${issue?.path.join('.') || 'body'}: ${issue?.message}`);
  }
  try {
    return encodeRequest(parsed.data);
  } catch (error) {
    throw error instanceof RangeError ? refusal(`${request}: ${error.message}`) : error;
  }
}

/** Like `registerQueryBodies`, and also reads the JSON of sigstore's clients. */
function registerSigstoreBodies(scope: FastifyInstance, reader: BodyReader): void {
  registerQueryBodies(scope, reader);
  scope.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) =>
    derOfJson((await reader.read(request, payload)).toString()),
  );
}
