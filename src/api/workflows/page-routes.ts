import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorResponse } from '../../shared/contract/error.ts';
import {
  mailedLinkParameters,
  stopTokenPath,
  verifyUserQuery,
  verifyUserResponse,
  workflowIdPath,
  workflowPageQuery,
} from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import { type ConfirmWith, maxWrongTriesOfClient } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ServerContext } from '../http/context.ts';
import { type AnswerContract, type OperationContract, page } from '../http/operation.ts';
import { addressKey } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { sendErrorPage, wantsJson } from '../http/views.ts';
import { findWorkflow, refusalError, workflowExists } from './access.ts';
import { resendLink } from './lifecycle.ts';
import { type ChallengeOutcome, isStopToken, lookAtChallenge, mayAskForLink, stopMails, verifyUser } from './mail-links.ts';
import { outputPagePath, readWorkflowPage, workflowViewOf } from './page.ts';
import { verifyUserPageOf } from './verify-user-page.ts';
import { createMailLimits, resendErrors } from './workflow-routes.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const tag = 'Workflow';
const unknownWorkflow = 'There is no workflow with this id.';

const pageContract = {
  tag,
  id: 'showWorkflowPage',
  summary: 'The public page of a workflow',
  path: workflowIdPath,
  query: workflowPageQuery,
  answers: {
    200: page('The evidence of the workflow: its outputs, the Merkle root and their stamps.'),
    303: { description: 'Redirects to the page with the requested output.' },
    404: page(unknownWorkflow),
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
    return sendErrorPage(request, reply, { status: 404, detail: unknownWorkflow, retryAfterSeconds: null });
  });
}

const pageOrJson = (description: string, schema: typeof errorResponse | typeof verifyUserResponse): AnswerContract => ({
  description,
  content: { 'text/html': null, 'application/json': schema },
});

const linkInput = { path: workflowIdPath, query: verifyUserQuery } as const;

const answersOf = (description: string): OperationContract['answers'] => ({
  200: pageOrJson(description, verifyUserResponse),
  403: pageOrJson('The challenge is wrong; more tries are left.', errorResponse),
  404: pageOrJson(unknownWorkflow, errorResponse),
  410: pageOrJson('The challenge has expired, was used, or was attempted too often.', errorResponse),
});

const openContract = {
  ...linkInput,
  tag,
  id: 'verifyWorkflowUser',
  summary: 'Open the link in the mail',
  description:
    'The answer is a page, or JSON for a request with `Accept: application/json`. If the service has `CONFIRM_WITH=button`, this changes nothing: the page ' +
    'has a button that confirms the address, and the JSON says `pending`.',
  answers: answersOf('Somebody with access to the mailbox opened the link.'),
  errors: ['rate_limited', 'prefetch_refused', 'store_unavailable'],
} satisfies OperationContract;

const confirmContract = {
  ...linkInput,
  tag,
  id: 'completeWorkflowVerification',
  summary: 'Press the button behind the link in the mail',
  description:
    'Confirms the address, whatever `CONFIRM_WITH` is. The answer is a page, or JSON for a request with `Accept: application/json`. A body is ignored.',
  answers: answersOf('Somebody with access to the mailbox confirmed the address.'),
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parseLink = createRequestParser(linkInput);

/** The same link in the short form that mails have. */
const parseShortLink = createRequestParser({ path: mailedLinkParameters });
const shortOf = ({ query: _, ...contract }: typeof openContract | typeof confirmContract, id: string) => ({
  ...{ ...contract, path: mailedLinkParameters, id },
});

/** The link in its two forms. The long one came first, and stays valid. */
const links = [
  {
    address: '/c/:workflow_id/:challenge',
    open: shortOf(openContract, 'openMailedLink'),
    confirm: shortOf(confirmContract, 'confirmMailedLink'),
    read: (request: FastifyRequest) => parseShortLink(request).path,
  },
  {
    address: '/api/v1/workflow/:workflow_id/verify-user',
    open: openContract,
    confirm: confirmContract,
    read: (request: FastifyRequest) => ({ ...parseLink(request).path, ...parseLink(request).query }),
  },
];

const newLinkContract = {
  tag,
  path: workflowIdPath,
  id: 'mailNewLink',
  summary: 'The button *Send me a new link* of our pages',
  description:
    'Mails a new link to the stored address, under the limits of a resend, if the last mail is ten minutes old or its link has expired. Otherwise does ' +
    'nothing. A body is ignored.',
  answers: { 303: { description: 'Redirects to the page of the workflow, which says what it waits for.' }, 404: page(unknownWorkflow) },
  errors: resendErrors.filter((code) => code !== 'not_found' && code !== 'idempotency_key_reused'),
} satisfies OperationContract;

const parseNewLink = createRequestParser(newLinkContract);

/**
 * Serves the link in the mail, the button behind it, and the button that mails a new link (W6): a page, or JSON on request. Neither HEAD nor a prefetch
 * consumes the challenge, and with `CONFIRM_WITH=button` no GET does.
 */
export function registerVerifyUserRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { config, limits, mistakes, baseUrl } = context;
  const mailLimits = createMailLimits(context, tools);
  const tries = limits.tries({
    name: 'wrong-challenge',
    points: maxWrongTriesOfClient,
    durationSeconds: config.OTP_TTL_MINUTES * 60,
  });

  async function answerHead(workflowId: string, request: FastifyRequest, reply: FastifyReply) {
    mistakes.checkUnknownIds(request, reply);
    const isKnown = await workflowExists(tools, workflowId);
    if (!isKnown) await mistakes.unknownId(request, reply);
    const status = isKnown ? 200 : 404;
    return reply.code(status).type('text/html; charset=utf-8').header('Cache-Control', 'no-store').send();
  }

  /** Answers with the outcome of a challenge. `confirmWith`: what confirms the address. */
  async function answer(
    link: ReturnType<(typeof links)[number]['read']>,
    request: FastifyRequest,
    reply: FastifyReply,
    confirmWith: ConfirmWith,
  ) {
    const { workflow_id: workflowId, challenge } = link;
    reply.header('Cache-Control', 'no-store').header('Vary', 'Accept');
    const isJson = wantsJson(request);
    // Wrong challenges do not count as wrong tokens: each challenge has its own limit of tries (R5, W6).
    mistakes.checkUnknownIds(request, reply);
    const attempt = { workflowId, challenge, requestId: request.id, address: addressKey(request), tries };
    const isOnlyOpened = request.method === 'GET' && confirmWith === 'button';
    const outcome = await (isOnlyOpened ? lookAtChallenge(tools, attempt) : verifyUser(tools, attempt, confirmWith));
    if (!outcome) {
      await mistakes.unknownId(request, reply);
      if (isJson) throw new ServiceError('not_found', unknownWorkflow);
      return sendErrorPage(request, reply, { status: 404, detail: unknownWorkflow, retryAfterSeconds: null });
    }
    if (!isJson) {
      const { makesTestStamps } = tools;
      const facts = { outcome, confirmWith, workflowId, workflowUrl: workflowPath(workflowId), makesTestStamps };
      return reply.code(statusOf(outcome)).page('verify-user', verifyUserPageOf(facts));
    }
    if (outcome.kind === 'wrong') {
      const members = { reason: 'challenge_wrong', tries_left: outcome.triesLeft };
      throw new ServiceError('forbidden', 'The challenge is not the one that was mailed.', { members });
    }
    if (outcome.kind !== 'verified' && outcome.kind !== 'open') throw refusalError('gone', outcome.kind);
    return { workflow_id: workflowId, status: outcome.kind === 'verified' ? 'active' : 'pending' };
  }

  for (const { address, open, confirm, read } of links) {
    app.head(address, async (request, reply) => answerHead(read(request).workflow_id, request, reply));
    app.get(address, { exposeHeadRoute: false, config: { contract: open } }, async (request, reply) => {
      if (isPrefetch(request)) throw new ServiceError('prefetch_refused', 'This link works only when a person opens it.');
      return answer(read(request), request, reply, config.CONFIRM_WITH);
    });
    app.post(address, { config: { contract: confirm } }, async (request, reply) => answer(read(request), request, reply, 'button'));
  }

  app.post('/workflow/:workflow_id/new-link', { config: { contract: newLinkContract } }, async (request, reply) => {
    const { workflow_id: workflowId } = parseNewLink(request).path;
    const workflow = await mistakes.guard(request, reply, () => findWorkflow(tools, workflowId));
    const passLimit = () => mailLimits.resend(request, reply, workflow.email);
    if (mayAskForLink(workflow, tools.clock()))
      await resendLink(tools, workflow, { requestId: request.id, idempotencyKey: undefined, baseUrl: baseUrl(), passLimit });
    return reply.redirect(workflowPath(workflowId), 303);
  });
}

const statusOf = ({ kind }: ChallengeOutcome): number => (kind === 'verified' || kind === 'open' ? 200 : kind === 'wrong' ? 403 : 410);

/** Whether a browser or mail program only prefetches the link, according to `Sec-Purpose` (Fetch Standard) or older headers. */
function isPrefetch({ headers }: FastifyRequest): boolean {
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].flat();
  return purposes.some((purpose) => /\b(prefetch|prerender|preview)\b/i.test(purpose ?? ''));
}

declare module '../http/views.ts' {
  interface PageModels {
    readonly 'stop-mail': { readonly isStopped: boolean };
  }
}

const stopShared = { tag, path: stopTokenPath, errors: ['rate_limited', 'store_unavailable'] } as const;
const unknownLink = page('The service did not make this link.');

const askContract = {
  ...stopShared,
  id: 'showMailStop',
  summary: 'A page to stop the mails to an address',
  description: 'Changes nothing, because programs that check mails open links.',
  answers: { 200: page('A page with one button.'), 404: unknownLink },
} satisfies OperationContract;

const stopContract = {
  ...stopShared,
  id: 'stopMails',
  summary: 'Stop the mails to an address',
  description: 'The button of the page, and the one-click link of mail programs (RFC 8058). The body is not read.',
  answers: { 200: page('No more mails are sent to this address.'), 404: unknownLink },
} satisfies OperationContract;

const parseStop = createRequestParser(askContract);

/** Serves the link *Stop these mails*, which works without an account. */
export function registerStopMailRoutes(app: FastifyInstance, { limitVerifying: onRequest }: ServerContext, tools: WorkflowTools): void {
  const handlerOf = (ask: typeof isStopToken, isStopped: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const isKnown = await ask(tools, parseStop(request).path.token);
    reply.header('Cache-Control', 'no-store');
    if (isKnown) return reply.page('stop-mail', { isStopped });
    const detail = 'This link is not one of ours. Open the whole link from the mail.';
    return sendErrorPage(request, reply, { status: 404, detail, retryAfterSeconds: null });
  };
  app.get('/mail/stop/:token', { onRequest, config: { contract: askContract } }, handlerOf(isStopToken, false));
  app.post('/mail/stop/:token', { onRequest, config: { contract: stopContract } }, handlerOf(stopMails, true));
}
