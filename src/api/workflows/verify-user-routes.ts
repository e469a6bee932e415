import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorResponse } from '../../shared/contract/error.ts';
import { verifyUserQuery, verifyUserResponse, workflowIdPath } from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import { type ConfirmWith, maxWrongTriesOfClient } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { wantsJson } from '../http/accept.ts';
import type { ServerContext } from '../http/context.ts';
import { sendErrorPage } from '../http/error-page.ts';
import type { AnswerContract, OperationContract } from '../http/operation.ts';
import { addressKey } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { workflowExists } from './access.ts';
import { challengeError } from './refusals.ts';
import { type ChallengeAttempt, type ChallengeOutcome, lookAtChallenge, verifyUser } from './verify-user.ts';
import { verifyUserPageOf } from './verify-user-page.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const address = '/api/v1/workflow/:workflow_id/verify-user';

const refused = (description: string): AnswerContract => ({
  description,
  content: { 'text/html': null, 'application/json': errorResponse },
});

const shared = {
  tag: 'Workflow',
  path: workflowIdPath,
  query: verifyUserQuery,
} as const;

const refusals = {
  403: refused('The challenge is wrong; more tries are left.'),
  404: refused('There is no workflow with this id.'),
  410: refused('The challenge has expired, was used, or was attempted too often.'),
};

const openContract = {
  ...shared,
  id: 'verifyWorkflowUser',
  summary: 'Open the link in the mail',
  description:
    'The answer is a page, or JSON for a request with `Accept: application/json`. If the service has `CONFIRM_WITH=button`, this changes nothing: the page ' +
    'has a button that confirms the address, and the JSON says `pending`.',
  answers: {
    200: {
      description: 'Somebody with access to the mailbox opened the link.',
      content: { 'text/html': null, 'application/json': verifyUserResponse },
    },
    ...refusals,
  },
  errors: ['rate_limited', 'prefetch_refused', 'store_unavailable'],
} satisfies OperationContract;

const confirmContract = {
  ...shared,
  id: 'completeWorkflowVerification',
  summary: 'Press the button behind the link in the mail',
  description:
    'Confirms the address, whatever `CONFIRM_WITH` is. The answer is a page, or JSON for a request with `Accept: application/json`. A body is ignored.',
  answers: {
    200: {
      description: 'Somebody with access to the mailbox confirmed the address.',
      content: { 'text/html': null, 'application/json': verifyUserResponse },
    },
    ...refusals,
  },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(shared);

type RefusedChallenge = Exclude<ChallengeOutcome, { kind: 'verified' | 'open' }>;

function errorOf(refusal: RefusedChallenge): ServiceError {
  if (refusal.kind !== 'wrong') return challengeError(refusal.kind);
  const members = { reason: 'challenge_wrong', tries_left: refusal.triesLeft };
  return new ServiceError('forbidden', 'The challenge is not the one that was mailed.', { members });
}

const statusOf = ({ kind }: ChallengeOutcome): number => (kind === 'verified' || kind === 'open' ? 200 : kind === 'wrong' ? 403 : 410);

/** Whether a browser or mail program only prefetches the link, according to `Sec-Purpose` (Fetch Standard) or older headers. */
function isPrefetch({ headers }: FastifyRequest): boolean {
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].flat();
  return purposes.some((purpose) => /\b(prefetch|prerender|preview)\b/i.test(purpose ?? ''));
}

/**
 * Serves the link in the mail, and the button behind it (W6): a page, or JSON on request. Neither HEAD nor a prefetch consumes the challenge, and with
 * `CONFIRM_WITH=button` no GET does.
 */
export function registerVerifyUserRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { config, limits, mistakes } = context;
  const tries = limits.tries({
    name: 'wrong-challenge',
    points: maxWrongTriesOfClient,
    durationSeconds: config.OTP_TTL_MINUTES * 60,
  });

  app.head(address, async (request, reply) => {
    const { path } = parse(request);
    mistakes.checkUnknownIds(request, reply);
    const isKnown = await workflowExists(tools, path.workflow_id);
    if (!isKnown) await mistakes.unknownId(request, reply);
    return reply
      .code(isKnown ? 200 : 404)
      .type('text/html; charset=utf-8')
      .header('Cache-Control', 'no-store')
      .send();
  });

  /** Answers with the outcome of a challenge. `confirmWith`: what the page says that confirms the address. */
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    confirmWith: ConfirmWith,
    ask: (attempt: ChallengeAttempt) => Promise<ChallengeOutcome | null>,
  ) {
    const { path, query } = parse(request);
    const workflowId = path.workflow_id;
    reply.header('Cache-Control', 'no-store').header('Vary', 'Accept');
    const isJson = wantsJson(request);
    const attempt = { workflowId, challenge: query.challenge, requestId: request.id, address: addressKey(request), tries };
    // Wrong challenges do not count as wrong tokens: each challenge has its own limit of tries (R5, W6).
    mistakes.checkUnknownIds(request, reply);
    const outcome = await ask(attempt);
    if (!outcome) {
      await mistakes.unknownId(request, reply);
      const detail = 'There is no workflow with this id.';
      if (isJson) throw new ServiceError('not_found', detail);
      return sendErrorPage(request, reply, { status: 404, detail, retryAfterSeconds: null });
    }
    if (!isJson) {
      const { makesTestStamps } = tools;
      const facts = { outcome, confirmWith, workflowId, workflowUrl: workflowPath(workflowId), makesTestStamps };
      return reply.code(statusOf(outcome)).page('verify-user', verifyUserPageOf(facts));
    }
    if (outcome.kind !== 'verified' && outcome.kind !== 'open') throw errorOf(outcome);
    return { workflow_id: workflowId, status: outcome.kind === 'verified' ? 'active' : 'pending' };
  }

  app.get(address, { exposeHeadRoute: false, config: { contract: openContract } }, async (request, reply) => {
    if (isPrefetch(request)) throw new ServiceError('prefetch_refused', 'This link works only when a person opens it.');
    const confirmWith = config.CONFIRM_WITH;
    return answer(request, reply, confirmWith, (attempt) =>
      confirmWith === 'button' ? lookAtChallenge(tools, attempt) : verifyUser(tools, attempt, confirmWith),
    );
  });

  app.post(address, { config: { contract: confirmContract } }, async (request, reply) =>
    answer(request, reply, 'button', (attempt) => verifyUser(tools, attempt, 'button')),
  );
}
