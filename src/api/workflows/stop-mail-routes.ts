import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stopTokenPath } from '../../shared/contract/workflow.ts';
import type { ServerContext } from '../http/context.ts';
import { sendErrorPage } from '../http/error-page.ts';
import { type OperationContract, page } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import { isStopToken, stopMails } from './recipients.ts';
import type { WorkflowTools } from './workflow-tools.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly 'stop-mail': { readonly isStopped: boolean };
  }
}

const address = '/mail/stop/:token';
const tag = 'Workflow';
const unknown = 'This link is not one of ours. Open the whole link from the mail.';

const askContract = {
  tag,
  id: 'showMailStop',
  summary: 'A page to stop the mails to an address',
  description: 'Changes nothing, because programs that check mails open links.',
  path: stopTokenPath,
  answers: { 200: page('A page with one button.'), 404: page('The service did not make this link.') },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const stopContract = {
  tag,
  id: 'stopMails',
  summary: 'Stop the mails to an address',
  description: 'The button of the page, and the one-click link of mail programs (RFC 8058). The body is not read.',
  path: stopTokenPath,
  answers: { 200: page('No more mails are sent to this address.'), 404: page('The service did not make this link.') },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(askContract);

/** Serves the link *Stop these mails*, which works without an account. */
export function registerStopMailRoutes(app: FastifyInstance, { limitVerifying: onRequest }: ServerContext, tools: WorkflowTools): void {
  const answer = (request: FastifyRequest, reply: FastifyReply, isKnown: boolean, isStopped: boolean) => {
    reply.header('Cache-Control', 'no-store');
    if (!isKnown) return sendErrorPage(request, reply, { status: 404, detail: unknown, retryAfterSeconds: null });
    return reply.page('stop-mail', { isStopped });
  };

  app.get(address, { onRequest, config: { contract: askContract } }, async (request, reply) =>
    answer(request, reply, await isStopToken(tools, parse(request).path.token), false),
  );
  app.post(address, { onRequest, config: { contract: stopContract } }, async (request, reply) =>
    answer(request, reply, await stopMails(tools, parse(request).path.token), true),
  );
}
