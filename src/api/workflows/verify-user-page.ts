import { newLinkPath } from '../../shared/domain/addresses.ts';
import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import type { ChallengeOutcome, RequesterNames } from './mail-links.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly 'verify-user': VerifyUserPage;
  }
}

export interface VerifyUserFacts {
  readonly outcome: ChallengeOutcome;
  /** What the page says that confirms the address. */
  readonly confirmWith: ConfirmWith;
  readonly workflowId: string;
  /** The secret part of the link. */
  readonly challenge: string;
  readonly workflowUrl: string;
  /** Whether this installation makes test stamps only. */
  readonly makesTestStamps: boolean;
}

/** Makes the model of the page behind the link in the mail. The page has a button if there is a text to show below it. */
export function verifyUserPageOf({ outcome, confirmWith, challenge, ...facts }: VerifyUserFacts) {
  const { title, tone = 'failure', text, belowButton = null } = wordsOf(outcome, confirmWith === 'button');
  const paragraphs = 'requester' in outcome ? [introductionOf(outcome.requester), ...text] : text;
  const newLinkUrl = 'canAskAgain' in outcome && outcome.canAskAgain ? newLinkPath(facts.workflowId, challenge) : null;
  return { ...facts, title, tone, icon: icons[tone], paragraphs, belowButton, newLinkUrl };
}

type VerifyUserPage = ReturnType<typeof verifyUserPageOf>;

/** Makes the model of the page after the button that mails a new link. */
export const newLinkPageOf = (
  facts: Pick<VerifyUserFacts, 'workflowId' | 'workflowUrl' | 'makesTestStamps'>,
  maskedEmail: string,
): VerifyUserPage => ({
  ...{ ...facts, tone: 'good', icon: icons.good, belowButton: null, newLinkUrl: null },
  title: 'A new link is on its way',
  paragraphs: [
    `We mail it to ${maskedEmail}, the address of this record. This can take a few minutes. If it does not come, please look among unwanted mail too.`,
    'Older links for this record no longer work. You can close this page.',
  ],
});

const icons = { good: 'check', warning: 'warning', failure: 'cross', open: null } as const;

interface ChallengeWords {
  /** The colour of the page. */
  readonly tone?: keyof typeof icons;
  readonly title: string;
  readonly text: readonly string[];
  readonly belowButton?: string;
}

function wordsOf(outcome: ChallengeOutcome, isButton: boolean): ChallengeWords {
  const isOffered = 'canAskAgain' in outcome && outcome.canAskAgain;
  const words: Readonly<Record<ChallengeOutcome['kind'], ChallengeWords>> = {
    open: {
      tone: 'open',
      title: 'Please confirm your e-mail address',
      text: [
        'With this button you confirm only one thing: that you can read the mail of this address. You approve nothing, you order nothing, and you owe nothing.',
      ],
      belowButton: `Nothing is confirmed before you press it. After that, ${next} If you do not know this agent, close this page.`,
    },
    verified: {
      tone: 'good',
      title: `Thank you, the ${isButton ? 'button was pressed' : 'link was opened'}`,
      text: [
        `The record of its work now shows when somebody with access to your mailbox ${isButton ? 'pressed the button' : 'opened the link'}. It does not show who it was, or that you agree with anything an agent does.`,
        `Now ${next} You need do nothing else, and can close this page.`,
      ],
    },
    wrong: {
      tone: 'warning',
      title: 'This link is not quite right',
      text: [
        'The end of the link, its secret part, does not belong to this workflow. Some mail programs cut long links in two: please open the link from the e-mail once more, or copy all of it into the address bar.',
        triesText(outcome.kind === 'wrong' ? outcome.triesLeft : 0),
      ],
    },
    challenge_used: {
      tone: 'good',
      title: 'This link has already been used',
      text: [
        `Each link works only once. ${isButton ? 'If you pressed its button, all is well.' : 'If you opened it, or a program that checks your mail did, all is well.'}`,
        'If not, somebody else can read your mail. Tell the operator of the agent, and secure your mailbox.',
      ],
    },
    challenge_expired: {
      title: 'This link has expired',
      text: [
        'Links like this one are valid for a limited time, so that an old e-mail cannot be misused. Nothing was confirmed.',
        isOffered ? byButton : askOperator,
      ],
    },
    challenge_exhausted: {
      title: 'This link was tried too often',
      text: [
        'Too many wrong links came from your network, or for this workflow. Nothing was confirmed.',
        'You can try the link from another network.',
        isOffered ? byButton : askOperator,
      ],
    },
    challenge_replaced: {
      title: 'A newer link was sent',
      text: [
        'A newer e-mail with a new link was sent for this workflow, and this older link no longer works. Nothing was confirmed.',
        'Please open the link in the newest e-mail.',
        ...(isOffered ? [byButton] : []),
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
  return words[outcome.kind];
}

const askOperator = 'Ask the operator of the agent to send you a new link.';
const byButton =
  'If you need a new link, press the button: we mail it to the address of this record, and to no other. The new link ends all older ones.';

const next = 'the agent works on, and each file that it makes is stamped. If it closes the record, we mail you a link to it.';

function triesText(triesLeft: number): string {
  if (triesLeft <= 0) return 'This was the last try: for safety the link is now closed.';
  return `You can try ${triesLeft === 1 ? 'once' : `${triesLeft} times`} more.`;
}

/** The agent and its task, in its own words. */
function introductionOf({ agentName, taskTitle }: RequesterNames): string {
  const agent = `An AI agent${agentName && ` that calls itself “${agentName}”`} records its work for you with this service.`;
  const task = taskTitle ? ` It named the task “${taskTitle}”.` : '';
  if (!agentName && !taskTitle) return agent;
  return `${agent}${task} Nobody has checked ${agentName && taskTitle ? 'these names' : 'this name'}.`;
}
