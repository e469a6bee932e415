import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorResponse } from '../../shared/contract/error.ts';
import { verifyUserQuery, verifyUserResponse, workflowIdPath } from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import { type ConfirmWith, maxWrongTriesOfClient } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ServerContext } from '../http/context.ts';
import type { AnswerContract, OperationContract } from '../http/operation.ts';
import { addressKey } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { sendErrorPage, wantsJson } from '../http/views.ts';
import { challengeError, workflowExists } from './access.ts';
import { type Asker, type ChallengeAttempt, type ChallengeOutcome, lookAtChallenge, verifyUser } from './mail-links.ts';
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

declare module '../http/views.ts' {
  interface PageModels {
    readonly 'verify-user': VerifyUserPage;
  }
}

/** The page behind the link in the mail. */
interface VerifyUserPage {
  readonly title: string;
  /** The colour of the page. */
  readonly tone: 'good' | 'warning' | 'failure' | 'open';
  readonly icon: string | null;
  readonly paragraphs: readonly string[];
  /** The paragraph below the button that confirms the address; null if the page has no button. */
  readonly belowButton: string | null;
  readonly workflowId: string;
  readonly workflowUrl: string;
  /** Whether this installation makes test stamps only. */
  readonly makesTestStamps: boolean;
}

/** Makes the model of the page for an outcome. `confirmWith`: what the page says that confirms the address. */
export function verifyUserPageOf({ outcome, confirmWith, ...facts }: VerifyUserFacts): VerifyUserPage {
  const { title, mood, text, belowButton = null } = wordsOf(outcome, confirmWith);
  const paragraphs = 'asker' in outcome ? [introductionOf(outcome.asker), ...text] : text;
  return { ...facts, title, ...moods[mood], paragraphs, belowButton };
}

export interface VerifyUserFacts extends Pick<VerifyUserPage, 'workflowId' | 'workflowUrl' | 'makesTestStamps'> {
  readonly outcome: ChallengeOutcome;
  readonly confirmWith: ConfirmWith;
}

const moods = {
  good: { tone: 'good', icon: 'check' },
  warning: { tone: 'warning', icon: 'warning' },
  failure: { tone: 'failure', icon: 'cross' },
  open: { tone: 'open', icon: null },
} as const;

interface ChallengeWords {
  readonly mood: keyof typeof moods;
  readonly title: string;
  readonly text: readonly string[];
  readonly belowButton?: string;
}

function wordsOf(outcome: ChallengeOutcome, confirmWith: ConfirmWith): ChallengeWords {
  const isButton = confirmWith === 'button';
  switch (outcome.kind) {
    case 'open':
      return {
        mood: 'open',
        title: 'Please confirm your e-mail address',
        text: [
          'With this button you confirm only one thing: that you can read the mail of this address. You approve nothing, you order nothing, and you owe nothing.',
        ],
        belowButton: `Nothing is confirmed before you press it. After that, ${next} If you do not know this agent, close this page.`,
      };
    case 'verified':
      return {
        mood: 'good',
        title: `Thank you, the ${isButton ? 'button was pressed' : 'link was opened'}`,
        text: [
          `The record of its work now shows when somebody with access to your mailbox ${isButton ? 'pressed the button' : 'opened the link'}. It does not show who it was, or that you agree with anything an agent does.`,
          `Now ${next} You need do nothing else, and can close this page.`,
        ],
      };
    case 'wrong':
      return {
        mood: 'warning',
        title: 'This link is not quite right',
        text: [
          'The end of the link, its secret part, does not belong to this workflow. Some mail programs cut long links in two: please open the link from the e-mail once more, or copy all of it into the address bar.',
          triesText(outcome.triesLeft),
        ],
      };
    case 'challenge_used':
      return {
        mood: 'good',
        title: 'This link has already been used',
        text: [
          `Each link works only once. ${isButton ? 'If you pressed its button, all is well.' : 'If you opened it, or a program that checks your mail did, all is well.'}`,
          'If not, somebody else can read your mail. Tell the operator of the agent, and secure your mailbox.',
        ],
      };
    default:
      return { mood: 'failure', ...refusalWords[outcome.kind] };
  }
}

const next = 'the agent works on, and each file that it makes is stamped. If it closes the record, we mail you a link to it.';

function triesText(triesLeft: number): string {
  if (triesLeft <= 0) return 'This was the last try: for safety the link is now closed.';
  return `You can try ${triesLeft === 1 ? 'once' : `${triesLeft} times`} more.`;
}

type ShownRefusal = Exclude<ChallengeOutcome['kind'], 'open' | 'verified' | 'wrong' | 'challenge_used'>;

const refusalWords: Readonly<Record<ShownRefusal, Pick<ChallengeWords, 'title' | 'text'>>> = {
  challenge_expired: {
    title: 'This link has expired',
    text: [
      'Links like this one are valid for a short time only, so that an old e-mail cannot be misused. Nothing was confirmed.',
      'Ask the operator of the agent to send you a new link.',
    ],
  },
  challenge_exhausted: {
    title: 'This link was tried too often',
    text: [
      'Too many wrong links came from your network, or for this workflow. Nothing was confirmed.',
      'Try the link from another network. Or: ask the operator of the agent to send you a new link.',
    ],
  },
  challenge_replaced: {
    title: 'A newer link was sent',
    text: [
      'A newer e-mail with a new link was sent for this workflow, and this older link no longer works. Nothing was confirmed.',
      'Please open the link in the newest e-mail.',
    ],
  },
  workflow_expired: {
    title: 'This workflow has ended',
    text: [
      'It ran out of time before your address was confirmed, and nothing can be added to it any more.',
      'Ask the operator of the agent to start a new workflow with your address. You will then get a new link.',
    ],
  },
  workflow_closed: {
    title: 'This workflow is already closed',
    text: ['Its outputs are sealed under one root, so an address can no longer be confirmed. Nothing was changed.'],
  },
  email_redacted: {
    title: 'The address of this workflow was erased',
    text: ['It was erased on request (GDPR, Article 17). There is no address left to confirm, and nothing was changed.'],
  },
};

/** The agent and its task, in its own words. */
function introductionOf({ agentName, taskTitle }: Asker): string {
  const agent = `An AI agent${agentName && ` that calls itself “${agentName}”`} records its work for you with this service.`;
  const task = taskTitle ? ` It named the task “${taskTitle}”.` : '';
  if (!agentName && !taskTitle) return agent;
  return `${agent}${task} Nobody has checked ${agentName && taskTitle ? 'these names' : 'this name'}.`;
}
