import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { detailsQuery, preferHeaders } from '../../shared/contract/parameters.ts';
import {
  rawVerifyRequest,
  resultWithoutDetails,
  tokenIdPath,
  type VerificationResult,
  verificationResult,
  verifyForm,
  verifyRequest,
} from '../../shared/contract/verify.ts';
import { TrustMaterialError } from '../../shared/rfc3161/index.ts';
import { beforeBody, tokenBodyLimit } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { json, type OperationContract, page, readPrefer, wantsDetails } from '../http/operation.ts';
import { createRequestParser, RequestValidationError } from '../http/validation.ts';
import { varyByBrowser, wantsPage } from '../http/views.ts';
import type { VerificationTools } from './stamp-judge.ts';
import { verifyFormViewOf, verifyViewOf } from './stamp-pages.ts';
import { createOutcomeWait, isUnknown, isUnknownId, judgePasted, readStampPage, verifyRaw } from './verification.ts';

const tag = 'Verification';
const errors = ['rate_limited', 'store_unavailable'] as const;

const byIdContract = {
  tag,
  id: 'verifyToken',
  summary: 'Verify a stamp by its id',
  description: 'The stored token is checked cryptographically each time. For an unknown id, `valid` is false. A browser gets a page.',
  path: tokenIdPath,
  query: detailsQuery,
  headers: preferHeaders,
  answers: {
    200: { description: 'Whether it is valid, and why not.', content: { 'application/json': verificationResult, 'text/html': null } },
  },
  errors,
} satisfies OperationContract;

const ofToken = {
  summary: 'Verify a token',
  query: detailsQuery,
  headers: preferHeaders,
  answers: { 200: json('Whether it is valid, and why not.', verificationResult) },
  errors,
} as const;

const rawContract = {
  ...ofToken,
  tag,
  id: 'verifyRawToken',
  description: 'Any token of this service, any RFC 3161 token and any evidence record (RFC 4998) that leads to a configured trust anchor.',
  body: rawVerifyRequest,
} satisfies OperationContract;

const productContract = {
  ...ofToken,
  tag: 'Internal',
  authentication: 'service',
  id: 'verifyInternal',
  body: verifyRequest,
} satisfies OperationContract;

/** The maximum size of the revocation lists in a request. Reading a list takes longer than reading a token of this size. */
const mostCrlBytes = 256 * 1024;
/** The lists in a request count as one more verification for each of this many bytes. */
const crlBytesOfVerification = 64 * 1024;

const listsRefused = (why: string) =>
  new RequestValidationError([
    { type: 'value_error', loc: ['body', 'revocation_lists'], msg: `Value error, the lists ${why}`, input: null, ctx: { error: {} } },
  ]);

const parseById = createRequestParser(byIdContract);
const parseRaw = createRequestParser(rawContract);
const parseProduct = createRequestParser(productContract);

/** The fields of interface.md alone, or all members for a client that asks for details (E15). */
const shownTo = (request: FastifyRequest, query: z.output<typeof detailsQuery>, result: VerificationResult): VerificationResult =>
  wantsDetails(request, query) ? result : resultWithoutDetails(result);

/**
 * Registers the verification routes: public ones, and one for products. If a token does not verify, the answer is 200 with `valid: false` and a
 * reason (V4).
 */
export function registerVerifyRoutes(app: FastifyInstance, context: ServerContext, tools: VerificationTools): void {
  const { mistakes, requireProduct, limitVerifying: onRequest, baseUrl } = context;
  const untilKnown = createOutcomeWait(tools);

  app.get('/api/v1/verify/v1/token/:token_id', { onRequest, config: { contract: byIdContract } }, async (request, reply) => {
    const { path, query } = parseById(request);
    reply.header('Vary', varyByBrowser);
    if (!wantsPage(request)) {
      const { waitSeconds } = readPrefer(request.headers.prefer);
      if (waitSeconds > 0) reply.header('Preference-Applied', `wait=${waitSeconds}`);
      const result = await untilKnown(path.token_id, waitSeconds, () => request.raw.destroyed || reply.raw.destroyed);
      if (isUnknownId(result)) await mistakes.unknownId(request, reply);
      return shownTo(request, query, result);
    }
    reply.header('X-Robots-Tag', 'noindex, nofollow');
    const shown = await readStampPage(tools, path.token_id, baseUrl());
    if (isUnknown(shown.judgement)) await mistakes.unknownId(request, reply);
    return reply.page('verify', verifyViewOf(shown));
  });
  app.post('/api/v1/verify/v1/raw', { onRequest, bodyLimit: tokenBodyLimit, config: { contract: rawContract } }, async (request, reply) => {
    const { query, body } = parseRaw(request);
    const crls = (body.revocation_lists ?? []).map((list) => Buffer.from(list, 'base64'));
    const bytes = crls.reduce((sum, { length }) => sum + length, 0);
    if (bytes > mostCrlBytes) throw listsRefused('should have at most 256 KiB in all');
    if (bytes > 0) await onRequest.items(request, reply, Math.ceil(bytes / crlBytesOfVerification));
    const result = await verifyRaw(tools, body.token, body.hash, body.hashes, crls).catch((error: unknown) => {
      throw error instanceof TrustMaterialError ? listsRefused(`cannot be used: ${error.message}`) : error;
    });
    return shownTo(request, query, result);
  });

  app.post(
    '/api/v1/internal/v1/verify',
    { onRequest: beforeBody(requireProduct), bodyLimit: tokenBodyLimit, config: { contract: productContract } },
    async (request, reply) => {
      await requireProduct(request, reply);
      const { query, body } = parseProduct(request);
      return shownTo(request, query, await verifyRaw(tools, body.token));
    },
  );
}

const formType = 'application/x-www-form-urlencoded';
/** Enough for a token of 1 MiB in base64, although a form encodes some characters as three. */
const bodyLimit = 2 * 1024 * 1024;

const openContract: OperationContract = {
  tag,
  id: 'showVerifyForm',
  summary: 'A page to verify a file and its stamp',
  answers: { 200: page('A form. The file stays in the browser.') },
};

const sendContract = {
  tag,
  id: 'verifyForm',
  summary: 'The verdict on a token, as a page',
  description: `Takes the fields of the page’s form as \`${formType}\`.`,
  bodyTypes: [formType],
  body: verifyForm,
  answers: { 200: page('Whether the token is valid, and its contents.') },
  errors,
} satisfies OperationContract;

const parse = createRequestParser(sendContract);

/** Serves the page where people can verify any token (V2): a form that works with and without JavaScript. */
export function registerVerifyForm(
  app: FastifyInstance,
  { reader, limitVerifying: onRequest }: ServerContext,
  tools: VerificationTools,
): void {
  app.get('/verify', { config: { contract: openContract } }, async (_request, reply) => reply.page('verify-form', { asked: null }));
  // The route has its own scope, because no other route accepts a form.
  app.register(async (scope) => {
    scope.addContentTypeParser(formType, async (request: FastifyRequest, payload: IncomingMessage) =>
      Object.fromEntries(new URLSearchParams((await reader.read(request, payload)).toString())),
    );
    scope.post('/verify', { onRequest, bodyLimit, config: { contract: sendContract } }, async (request, reply) => {
      const { token, hash } = parse(request).body;
      reply.header('Cache-Control', 'no-store');
      return reply.page('verify-form', verifyFormViewOf({ token, hash, judgement: await judgePasted(tools, token, hash) }));
    });
  });
}
