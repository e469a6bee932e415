import type { FastifyInstance, FastifyRequest } from 'fastify';
import { errorResponse } from '../../shared/contract/error.ts';
import { verifyUserQuery, verifyUserResponse, workflowIdPath } from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import { maxWrongTriesOfClient } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { prefersJson } from '../server/accept.ts';
import type { ServerContext } from '../server/context.ts';
import { sendErrorPage } from '../server/error-page.ts';
import type { AnswerContract, OperationContract } from '../server/operation.ts';
import { addressKey } from '../server/rate-limits.ts';
import { createRequestParser } from '../server/validation.ts';
import { challengeError } from './refusals.ts';
import type { ChallengeOutcome } from './verify-user.ts';
import type { Workflows } from './workflows.ts';

const address = '/api/v1/workflow/:workflow_id/verify-user';

const refused = (description: string): AnswerContract => ({
  description,
  content: { 'text/html': null, 'application/json': errorResponse },
});

const contract = {
  tag: 'Workflow',
  id: 'verifyWorkflowUser',
  summary: 'Open the link in the mail',
  description: 'The answer is a page, or JSON for a request with `Accept: application/json`.',
  path: workflowIdPath,
  query: verifyUserQuery,
  answers: {
    200: {
      description: 'Somebody with access to the mailbox opened the link.',
      content: { 'text/html': null, 'application/json': verifyUserResponse },
    },
    403: refused('The challenge is wrong; more tries are left.'),
    404: refused('There is no workflow with this id.'),
    410: refused('The challenge has expired, was used, or was attempted too often.'),
  },
  errors: ['rate_limited', 'prefetch_refused', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(contract);

type Refusal = Exclude<ChallengeOutcome, { kind: 'verified' }>;

function errorOf(refusal: Refusal): ServiceError {
  if (refusal.kind !== 'wrong') return challengeError(refusal.kind);
  const members = { reason: 'challenge_wrong', tries_left: refusal.triesLeft };
  return new ServiceError('forbidden', 'The challenge is not the one that was mailed.', { members });
}

const statusOf = ({ kind }: ChallengeOutcome): number => (kind === 'verified' ? 200 : kind === 'wrong' ? 403 : 410);

/** Whether a browser or mail program only prefetches the link, according to `Sec-Purpose` (Fetch Standard) or older headers. */
function isPrefetch({ headers }: FastifyRequest): boolean {
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].flat();
  return purposes.some((purpose) => /\b(prefetch|prerender|preview)\b/i.test(purpose ?? ''));
}

/** Serves the link in the mail (W6): a page, or JSON on request. Neither HEAD nor a prefetch consumes the challenge. */
export function registerVerifyUserRoutes(
  app: FastifyInstance,
  { config, limits, workflows, mistakes }: ServerContext & { readonly workflows: Workflows },
): void {
  const tries = limits.tries({
    name: 'wrong-challenge',
    points: maxWrongTriesOfClient,
    durationSeconds: config.OTP_TTL_MINUTES * 60,
  });

  app.head(address, async (request, reply) => {
    const { path } = parse(request);
    const isKnown = await mistakes.guard(request, reply, () => workflows.exists(path.workflow_id));
    if (!isKnown) await mistakes.unknownId(request, reply);
    return reply
      .code(isKnown ? 200 : 404)
      .type('text/html; charset=utf-8')
      .header('Cache-Control', 'no-store')
      .send();
  });

  app.get(address, { exposeHeadRoute: false, config: { contract } }, async (request, reply) => {
    const { path, query } = parse(request);
    reply.header('Cache-Control', 'no-store').header('Vary', 'Accept');
    if (isPrefetch(request)) throw new ServiceError('prefetch_refused', 'This link works only when a person opens it.');
    const wantsJson = prefersJson(request);
    const workflowId = path.workflow_id;
    const attempt = { workflowId, challenge: query.challenge, requestId: request.id, address: addressKey(request), tries };
    const outcome = await mistakes.guard(request, reply, () => workflows.verifyUser(attempt));
    const isMistake = outcome?.kind === 'wrong' || (outcome && 'isGuess' in outcome && outcome.isGuess);
    if (isMistake) await mistakes.wrongToken(request, reply);
    if (!outcome) {
      await mistakes.unknownId(request, reply);
      const detail = 'There is no workflow with this id.';
      if (wantsJson) throw new ServiceError('not_found', detail);
      return sendErrorPage(request, reply, { status: 404, detail, retryAfterSeconds: null });
    }
    if (!wantsJson) {
      return reply.code(statusOf(outcome)).page('verify-user', { outcome, workflowId, workflowUrl: workflowPath(workflowId) });
    }
    if (outcome.kind !== 'verified') throw errorOf(outcome);
    return { workflow_id: workflowId, status: 'active' };
  });
}
