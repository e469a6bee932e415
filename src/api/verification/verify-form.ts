import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { verifyForm } from '../../shared/contract/verify.ts';
import type { BodyReader } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { type OperationContract, page } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { VerificationTools } from './stamp-judge.ts';
import { judgePasted } from './stamp-pages.ts';
import { verifyFormViewOf } from './verify-view.ts';

const tag = 'Verification';
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
  errors: ['rate_limited', 'store_unavailable'],
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
    registerFormBody(scope, reader);
    scope.post('/verify', { onRequest, bodyLimit, config: { contract: sendContract } }, async (request, reply) => {
      const { token, hash } = parse(request).body;
      reply.header('Cache-Control', 'no-store');
      return reply.page('verify-form', verifyFormViewOf({ token, hash, verdict: await judgePasted(tools, token, hash) }));
    });
  });
}

/** Lets a scope's routes accept form bodies. Each body becomes an object of its fields. */
function registerFormBody(scope: FastifyInstance, reader: BodyReader): void {
  scope.addContentTypeParser(formType, async (request: FastifyRequest, payload: IncomingMessage) => {
    const bytes = await reader.read(request, payload);
    return Object.fromEntries(new URLSearchParams(bytes.toString()));
  });
}
