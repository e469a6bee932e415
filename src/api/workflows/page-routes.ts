import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stopTokenPath, workflowIdPath, workflowPageQuery } from '../../shared/contract/workflow.ts';
import type { ServerContext } from '../http/context.ts';
import { type OperationContract, page } from '../http/operation.ts';
import { addressKey } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { sendErrorPage } from '../http/views.ts';
import { isStopToken, stopMails } from './mail-links.ts';
import { outputPagePath, readWorkflowPage, workflowViewOf } from './page.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const pageContract = {
  tag: 'Workflow',
  id: 'showWorkflowPage',
  summary: 'The public page of a workflow',
  path: workflowIdPath,
  query: workflowPageQuery,
  answers: {
    200: page('The evidence of the workflow: its outputs, the Merkle root and their stamps.'),
    303: { description: 'Redirects to the page with the requested output.' },
    404: page('There is no workflow with this id.'),
  },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parsePage = createRequestParser(pageContract);

/** Each further hundred of outputs on a page counts as one more view, because all of them are verified. */
const outputsOfView = 100;

/** Serves the public page of a workflow (W14). */
export function registerPageRoutes(app: FastifyInstance, { config, limits, mistakes, baseUrl }: ServerContext, tools: WorkflowTools): void {
  const perMinute = config.RATE_WORKFLOW_PAGE_PER_MINUTE;
  const limited = limits.by({ name: 'workflow-page', points: perMinute, durationSeconds: 60, unit: 'views', key: addressKey });
  app.get('/workflow/:workflow_id', { onRequest: limited, config: { contract: pageContract } }, async (request, reply) => {
    const { path, query } = parsePage(request);
    reply.header('Cache-Control', 'no-cache').header('X-Robots-Tag', 'noindex, nofollow');
    if (query.output !== undefined) return reply.redirect(outputPagePath(path.workflow_id, query.output), 303);
    const passLimit = async (outputs: number) => {
      const views = Math.min(Math.ceil(outputs / outputsOfView), perMinute);
      if (views > 1) await limited.items(request, reply, views - 1);
    };
    const model = await readWorkflowPage(tools, path.workflow_id, { ...query, passLimit, baseUrl: baseUrl() });
    if (model) return reply.page('workflow', workflowViewOf(model));
    await mistakes.unknownId(request, reply);
    return sendErrorPage(request, reply, { status: 404, detail: 'There is no workflow with this id.', retryAfterSeconds: null });
  });
}

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

const parseStopMail = createRequestParser(askContract);

/** Serves the link *Stop these mails*, which works without an account. */
export function registerStopMailRoutes(app: FastifyInstance, { limitVerifying: onRequest }: ServerContext, tools: WorkflowTools): void {
  const answer = (request: FastifyRequest, reply: FastifyReply, isKnown: boolean, isStopped: boolean) => {
    reply.header('Cache-Control', 'no-store');
    if (!isKnown) return sendErrorPage(request, reply, { status: 404, detail: unknown, retryAfterSeconds: null });
    return reply.page('stop-mail', { isStopped });
  };

  app.get(address, { onRequest, config: { contract: askContract } }, async (request, reply) =>
    answer(request, reply, await isStopToken(tools, parseStopMail(request).path.token), false),
  );
  app.post(address, { onRequest, config: { contract: stopContract } }, async (request, reply) =>
    answer(request, reply, await stopMails(tools, parseStopMail(request).path.token), true),
  );
}
