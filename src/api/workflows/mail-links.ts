import {
  type ChallengeRefusal,
  type ConfirmWith,
  challengeRefusal,
  digestOfChallenge,
  isWellFormedChallenge,
  maxWrongTries,
} from '../../shared/domain/challenge.ts';
import { publicNameOf, quotableName } from '../../shared/domain/public-name.ts';
import { maskEmail, recipientHash, recipientOfStopToken } from '../../shared/domain/recipient.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { answerTo } from '../../shared/domain/workflow-state.ts';
import type { Acceptance } from '../../shared/queue/sender.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import type { Tries } from '../http/rate-limits.ts';
import type { WorkflowTools } from './workflow-tools.ts';

type FinalRefusal = ChallengeRefusal | 'workflow_expired' | 'workflow_closed' | 'email_redacted';

/**
 * The outcome when someone answers a challenge. `open`: the challenge is right, and was not used. After `wrong` the caller may try again; the other
 * refusals are final.
 */
export type ChallengeOutcome =
  | { readonly kind: 'verified' | 'open'; readonly requester: RequesterNames }
  | { readonly kind: 'wrong'; readonly triesLeft: number }
  | { readonly kind: FinalRefusal };

/** Who asks the client to confirm which address: the names of the agent and of its task, which the agent chose, and the address in its masked form. */
export type RequesterNames = ReturnType<typeof requesterNamesOf>;

/** A text that somebody gives as the challenge of a workflow. */
interface ChallengeAttempt {
  readonly workflowId: string;
  readonly challenge: string;
  readonly requestId: string;
  /** The address of the client, as limits count it. */
  readonly address: string;
  /** Counts the wrong tries of each address for each challenge. */
  readonly tries: Tries;
}

/**
 * Confirms the e-mail address if the challenge is right. A text that cannot be a challenge, for example from a link that was cut off, is wrong but
 * does not count as a try (W6). Returns null if there is no such workflow.
 *
 * @throws ServiceError `queue_unavailable`, `store_unavailable`
 */
export async function verifyUser(
  tools: WorkflowTools,
  attempt: ChallengeAttempt,
  confirmWith: ConfirmWith,
): Promise<ChallengeOutcome | null> {
  const { workflows } = tools.store;
  const { workflowId, challenge: given, requestId, tries } = attempt;
  const digest = digestOfChallenge(given);
  const nowMs = tools.clock();
  const workflow = await workflows.find(workflowId);
  if (!workflow) return null;
  const key = triesKey(workflow, attempt.address);
  if (!isWellFormedChallenge(given)) return explain(workflow, digest, nowMs, await tries.left(key));
  // The try is taken before the challenge is compared: otherwise one client could send a hundred at once.
  const triesLeft = await tries.take(key);
  if (triesLeft < 0) return explain(workflow, digest, nowMs, 0);
  let isWrong = false;
  try {
    await announceConfirmed(tools, workflow, digest, requestId, nowMs);
    const answered = await workflows.answerChallenge(workflowId, digest, confirmWith, new Date(nowMs));
    isWrong = answered?.challenge !== undefined && !answered.challenge.usedAt;
    if (answered) return isWrong ? wrong(answered, triesLeft) : { kind: 'verified', requester: requesterNamesOf(answered) };
  } finally {
    if (!isWrong) await tries.giveBack(key);
  }
  const current = await workflows.find(workflowId);
  return current && explain(current, digest, nowMs, triesLeft + 1);
}

/**
 * Checks a challenge and changes nothing, not even the number of tries. Returns null if there is no such workflow.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function lookAtChallenge(
  { store: { workflows }, clock }: WorkflowTools,
  { workflowId, challenge, address, tries }: ChallengeAttempt,
): Promise<ChallengeOutcome | null> {
  const workflow = await workflows.find(workflowId);
  if (!workflow) return null;
  const digest = digestOfChallenge(challenge);
  const outcome = explain(workflow, digest, clock(), await tries.left(triesKey(workflow, address)));
  return outcome.kind === 'wrong' && workflow.challenge?.digest === digest
    ? { kind: 'open', requester: requesterNamesOf(workflow) }
    : outcome;
}

/** Calls within the same period of this length share one job. It is much shorter than the time that the job waits for the confirmation. */
const announcedTogetherMs = 10_000;

/**
 * Queues the webhook if this is the right challenge. This happens before the challenge is used, because it can be used only once. The job finds out
 * whether the challenge was accepted.
 *
 * @throws ServiceError `queue_unavailable`
 */
async function announceConfirmed(
  { jobs }: WorkflowTools,
  workflow: WorkflowRecord,
  digest: string,
  requestId: string,
  acceptedAt: number,
): Promise<void> {
  const { _id: workflowId, callbackUrl, challenge } = workflow;
  if (!callbackUrl || challenge?.digest !== digest || refusalOf(workflow, digest, acceptedAt)) return;
  const job = { event: 'workflow.confirmed', workflowId, acceptedAt, requestId } as const;
  await jobs.send('webhook', job, `confirmed-${workflowId}-${Math.floor(acceptedAt / announcedTogetherMs)}`);
}

/**
 * Why a text is refused to a client with so many tries left. `wrong`: the workflow waits for an answer, but this text is not it. While the mail is not
 * sent, nobody can know the challenge, so the workflow counts no try.
 */
function explain(workflow: WorkflowRecord, digest: string, nowMs: number, triesLeft: number): ChallengeOutcome {
  const kind = refusalOf(workflow, digest, nowMs) ?? (triesLeft > 0 ? undefined : 'challenge_exhausted');
  return kind ? { kind } : wrong(workflow, triesLeft);
}

/** A new link ends the old one, so visitors must give a mail this time to arrive and to be read. */
const visitorsWaitMs = 600_000;

/** Whether a visitor without the workflow token may have a new link mailed to the client: some time after the last mail, or once its link has expired. */
export function mayAskForLink(workflow: WorkflowRecord, nowMs: number): boolean {
  const { challenge, mail } = workflow;
  if (!challenge || !mail?.sentAt || answerTo('resend', snapshotOf(workflow), nowMs) !== 'go') return false;
  return nowMs >= Math.min(mail.sentAt.getTime() + visitorsWaitMs, challenge.expiresAt.getTime());
}

/** Returns why this text is refused even if it is the current challenge; undefined if the current challenge would be accepted. */
function refusalOf(workflow: WorkflowRecord, digest: string, nowMs: number): FinalRefusal | undefined {
  const answer = answerTo('verify_user', snapshotOf(workflow), nowMs);
  if (typeof answer === 'object' && answer.kind === 'gone') return answer.reason;
  const { challenge, formerChallenges = [] } = workflow;
  if (formerChallenges.includes(digest)) return 'challenge_replaced';
  if (!challenge) return undefined;
  const { expiresAt, usedAt, wrongTries } = challenge;
  return challengeRefusal({ expiresAtMs: expiresAt.getTime(), isUsed: usedAt !== undefined, wrongTries }, nowMs);
}

const wrong = ({ challenge }: WorkflowRecord, triesLeft: number): ChallengeOutcome => ({
  kind: 'wrong',
  triesLeft: Math.min(triesLeft, maxWrongTries - (challenge?.wrongTries ?? 0)),
});

/** Only the right challenge gets this far, so these names are shown to nobody but the reader of the mail. A name that is not safe to quote is left out. */
const requesterNamesOf = ({ agentId, briefingMetadata, email }: WorkflowRecord) => ({
  maskedEmail: maskEmail(email),
  agentName: quotableName(agentId),
  taskTitle: quotableName(publicNameOf(briefingMetadata, 'title') ?? '') || null,
});

/** A new link gives every client new tries. */
const triesKey = ({ _id, challengeId }: WorkflowRecord, address: string): string => `${_id} ${challengeId} ${address}`;

/**
 * Returns the hash of a recipient who may get a mail.
 *
 * @throws ServiceError `recipient_blocked` if he has stopped the mails; `store_unavailable`
 */
export async function admitRecipient({ store: { keys, blockedRecipients } }: WorkflowTools, address: string): Promise<string> {
  const hash = recipientHash(await keys.secret('recipients'), address);
  if ((await blockedRecipients.blockedAt(hash)) === undefined) return hash;
  const detail =
    'The owner of this e-mail address has stopped the mails of this service. Only the operator can allow them again, at his request.';
  throw new ServiceError('recipient_blocked', detail);
}

/** Whether the service made this token for a link that stops mails. */
export const isStopToken = async ({ store: { keys } }: WorkflowTools, token: string): Promise<boolean> =>
  recipientOfStopToken(await keys.secret('recipients'), token) !== undefined;

/** Stops all mails to the recipient of a token. Resolves to false if the service did not make the token. */
export async function stopMails({ store: { keys, blockedRecipients }, clock }: WorkflowTools, token: string): Promise<boolean> {
  const hash = recipientOfStopToken(await keys.secret('recipients'), token);
  if (hash !== undefined) await blockedRecipients.block(hash, new Date(clock()));
  return hash !== undefined;
}

/** Checks whether the mail with a link can be sent. @throws ServiceError `mail_unavailable` if no worker has a mail server */
export async function checkCanMail({ canSendMail }: WorkflowTools): Promise<void> {
  if (await canSendMail()) return;
  throw new ServiceError('mail_unavailable', 'No mail can be sent at the moment, but this needs one.', { retryAfterSeconds: 60 });
}

/**
 * Queues the mail with the link that confirms an e-mail address. A worker sends it (W12). Repeated calls queue it only once.
 *
 * @throws ServiceError `queue_unavailable` if the mail was certainly not queued
 */
export const mailChallenge = (
  { jobs, clock }: WorkflowTools,
  workflowId: string,
  challengeId: string,
  { requestId, baseUrl }: { readonly requestId: string; readonly baseUrl: string },
): Promise<Acceptance> => jobs.send('otp-mail', { workflowId, challengeId, acceptedAt: clock(), requestId, baseUrl }, `otp-${challengeId}`);
