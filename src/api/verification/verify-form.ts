import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { verifyForm } from '../../shared/contract/verify.ts';
import type { BodyReader } from '../server/body-reader.ts';
import type { ServerContext } from '../server/context.ts';
import { type OperationContract, page } from '../server/operation.ts';
import { createRequestParser } from '../server/validation.ts';
import type { StampPages } from './stamp-pages.ts';

const tag = 'Verification';
const formType = 'application/x-www-form-urlencoded';
/** A token of 1 MiB in base64, of which a form writes some characters as three. */
const bodyLimit = 2 * 1024 * 1024;

const openContract: OperationContract = {
  tag,
  id: 'showVerifyForm',
  summary: 'A page to verify a file and its stamp',
  answers: { 200: page('A form; the file stays in the browser.') },
};

const sendContract = {
  tag,
  id: 'verifyForm',
  summary: 'The verdict on a token, as a page',
  description: `What the form of the page sends, as \`${formType}\`.`,
  bodyTypes: [formType],
  body: verifyForm,
  answers: { 200: page('Whether the token is valid, and what it says.') },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(sendContract);

/** A person's way to raw verification (V2): by form, with JavaScript and without. */
export function registerVerifyForm(
  app: FastifyInstance,
  { stampPages, reader, limitVerifying: onRequest }: ServerContext & { readonly stampPages: StampPages },
): void {
  app.get('/verify', { config: { contract: openContract } }, async (_request, reply) => reply.page('verify-form', { asked: null }));
  // A scope of its own: no other route takes a form.
  app.register(async (scope) => {
    registerFormBody(scope, reader);
    scope.post('/verify', { onRequest, bodyLimit, config: { contract: sendContract } }, async (request, reply) => {
      const { token, hash } = parse(request).body;
      reply.header('Cache-Control', 'no-store');
      return reply.page('verify-form', { asked: { token, hash, verdict: await stampPages.raw(token, hash) } });
    });
  });
}

/** Reads what a form of a page sends as an object of its fields, in this scope. */
export function registerFormBody(scope: FastifyInstance, reader: BodyReader): void {
  scope.addContentTypeParser(formType, async (request: FastifyRequest, payload: IncomingMessage) => {
    const bytes = await reader.read(request, payload);
    return Object.fromEntries(new URLSearchParams(bytes.toString()));
  });
}
