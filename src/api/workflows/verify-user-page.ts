import { newLinkPath } from '../../shared/domain/addresses.ts';
import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import type { Words } from '../../shared/views/format.ts';
import type { ChallengeOutcome, RequesterNames } from './mail-links.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly 'verify-user': ReturnType<ReturnType<typeof verifyUserPageOf>>;
  }
}

export interface VerifyUserFacts {
  readonly outcome: ChallengeOutcome;
  /** What the page says that confirms the address. */
  readonly confirmWith: ConfirmWith;
  readonly workflowId: string;
  readonly workflowUrl: string;
  /** Whether this installation makes test stamps only. */
  readonly makesTestStamps: boolean;
}

/** Makes the model of the page behind the link in the mail. The page has a button if there is a text to show below it. */
export const verifyUserPageOf =
  ({ outcome, confirmWith, ...facts }: VerifyUserFacts) =>
  (words: Words) => {
    const { title, tone = 'warning', text, belowButton = null } = outcomeWordsOf(outcome, confirmWith === 'button', words);
    const paragraphs = 'requester' in outcome ? [introductionOf(outcome.requester, words), ...text] : text;
    const newLinkUrl = withNewLink.includes(outcome.kind) ? newLinkPath(facts.workflowId) : null;
    return { ...facts, title, tone, icon: icons[tone], paragraphs, belowButton, newLinkUrl };
  };

/** The pages with a button that mails a new link. It does nothing while a mail is under way. */
const withNewLink: readonly ChallengeOutcome['kind'][] = ['challenge_expired', 'challenge_exhausted', 'challenge_replaced'];

const icons = { good: 'check', warning: 'warning', failure: 'cross', open: null } as const;

interface ChallengeWords {
  /** The colour of the page. */
  readonly tone?: keyof typeof icons;
  readonly title: string;
  readonly text: readonly string[];
  readonly belowButton?: string;
}

function outcomeWordsOf(outcome: ChallengeOutcome, isButton: boolean, words: Words): ChallengeWords {
  const { t } = words;
  const address = { address: 'requester' in outcome ? outcome.requester.maskedEmail : '' };
  const said: Readonly<Record<ChallengeOutcome['kind'], ChallengeWords>> = {
    open: {
      tone: 'open',
      title: t('Please confirm your e-mail address'),
      text: [
        t(
          'With this button you confirm only one thing: that you can read the mail sent to {address}. You approve nothing, you order nothing, and you owe nothing.',
          address,
        ),
      ],
      belowButton: t(
        'Nothing is confirmed before you press it. After that, the agent works on, and each file that it records is stamped. If it closes the record, we mail you a link to it. If you do not know this agent, close this page.',
      ),
    },
    verified: {
      tone: 'good',
      title: isButton ? t('Thank you, the button was pressed') : t('Thank you, the link was opened'),
      text: [
        isButton
          ? t(
              'The record of its work now shows when somebody with access to the mailbox of {address} pressed the button. It does not show who it was, or that you agree with anything an agent does.',
              address,
            )
          : t(
              'The record of its work now shows when somebody with access to the mailbox of {address} opened the link. It does not show who it was, or that you agree with anything an agent does.',
              address,
            ),
        t(
          'Now the agent works on, and each file that it records is stamped. If it closes the record, we mail you a link to it. You need do nothing else, and can close this page.',
        ),
      ],
    },
    wrong: {
      title: t('This link is not quite right'),
      text: [
        t(
          'The end of the link, its secret part, does not belong to this record. Some mail programs cut long links in two: please open the link from the e-mail once more, or copy all of it into the address bar.',
        ),
        triesText(outcome.kind === 'wrong' ? outcome.triesLeft : 0, words),
      ],
    },
    challenge_used: {
      tone: 'good',
      title: t('This link has already been used'),
      text: [
        isButton
          ? t('Each link works only once. If you pressed its button, all is well.')
          : t('Each link works only once. If you opened it, or a program that checks your mail did, all is well.'),
        t('If neither, somebody else may be able to read your mail. Tell the operator of the agent, and secure your mailbox.'),
      ],
    },
    challenge_expired: {
      title: t('This link has expired'),
      text: [
        t('Links like this one are valid for a limited time, so that an old e-mail cannot be misused. Nothing was confirmed.'),
        t('If you need a new link, press the button: we mail it to the address of this record, and to no other.'),
      ],
    },
    challenge_exhausted: {
      tone: 'failure',
      title: t('This link was tried too often'),
      text: [
        t('Too many wrong links came from your network, or for this record. Nothing was confirmed.'),
        t('You can try the link from another network, or have a new link mailed.'),
      ],
    },
    challenge_replaced: {
      title: t('A newer link was sent'),
      text: [
        t('A newer e-mail with a new link was sent for this record, and this older link no longer works. Nothing was confirmed.'),
        t('Please open the link in the newest e-mail. If you cannot find it, have a new link mailed.'),
      ],
    },
    workflow_expired: {
      title: t('This record has ended'),
      text: [
        t('It ran out of time before your address was confirmed, and nothing can be added to it any more.'),
        t('Ask the operator of the agent to start a new record with your address. You will then get a new link.'),
      ],
    },
    workflow_closed: {
      title: t('This record is already closed'),
      text: [t('Nothing can be added to it any more, so an address can no longer be confirmed. Nothing was changed.')],
    },
    email_redacted: {
      title: t('The address of this record was erased'),
      text: [t('It was erased on request (GDPR, Article 17). There is no address left to confirm, and nothing was changed.')],
    },
  };
  return said[outcome.kind];
}

const triesText = (triesLeft: number, { t, tCount }: Words): string =>
  triesLeft <= 0
    ? t('This was the last try: for safety the link is now closed.')
    : tCount(triesLeft, 'You can try once more.', 'You can try {count} times more.');

/** The agent and its task, in its own words. */
function introductionOf({ agentName: agent, taskTitle }: RequesterNames, { t }: Words): string {
  const said = [
    agent
      ? t('An AI agent that calls itself “{agent}” records its work for you with this service.', { agent })
      : t('An AI agent records its work for you with this service.'),
    ...(taskTitle ? [t('It named the task “{task}”.', { task: taskTitle })] : []),
    t('Nobody has checked what the agent says.'),
  ];
  return said.join(' ');
}
