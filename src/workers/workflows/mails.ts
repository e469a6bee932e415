import { createHmac } from 'node:crypto';
import { evidencePath, mailedLinkPath, stopMailPath, workflowPath } from '../../shared/domain/addresses.ts';
import { type ConfirmWith, mintChallenge } from '../../shared/domain/challenge.ts';
import { decryptMetadata } from '../../shared/domain/encryption.ts';
import { type Language, languages } from '../../shared/domain/language.ts';
import { publicNameOf, quotableFileName, quotableName } from '../../shared/domain/public-name.ts';
import { trialOf } from '../../shared/domain/qualification.ts';
import { recipientHash, stopTokenOf } from '../../shared/domain/recipient.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { MailOutcome, WorkflowRecord } from '../../shared/store/workflows.ts';
import { createViewEngine } from '../../shared/views/engine.ts';
import { type Words, wordsOf } from '../../shared/views/format.ts';
import { type Operator, operatorOf } from '../../shared/views/operator.ts';
import { MailError, type Message } from '../mail/index.ts';
import type { WorkerTools } from '../tools.ts';

/** How long sending a mail is retried (W12). */
const tryForMs = 3_600_000;

interface ClientMailing {
  /** For logs: `the mail with the link`. */
  readonly name: string;
  readonly workflow: WorkflowRecord;
  readonly job: { readonly acceptedAt: number; readonly requestId: string };
  /** The start of the links in the mail. */
  readonly baseUrl: string;
  readonly build: (parts: Omit<ClientMail, 'messageKey'>) => Message;
  readonly record: (outcome: MailOutcome) => Promise<void>;
}

/**
 * Sends a mail to the client of a workflow, unless he has stopped the mails, and records the outcome. If the process ends after the server has accepted
 * the mail, the mail is sent again with the same Message-ID.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
async function sendToClient(tools: WorkerTools, { name, workflow, job, baseUrl, build, record }: ClientMailing): Promise<void> {
  const { config, store, mail, clock, log } = tools;
  const { _id: workflowId, email: to, agentId, briefingMetadata, locale = 'en' } = workflow;
  const title = publicNameOf(briefingMetadata, 'title');
  const logFields = { requestId: job.requestId, workflowId };
  const recipientKey = await store.keys.secret('recipients');
  const recipient = recipientHash(recipientKey, to);
  if (await store.blockedRecipients.blockedAt(recipient)) {
    await record({ failedAt: new Date(clock()), fault: 'the recipient has stopped mails' });
    log.info({ ...logFields, outcome: 'refused' }, `${name} was not sent: its recipient has stopped the mails`);
    return;
  }
  const operator = operatorOf(config);
  const from = senderOf(config.MAIL_FROM ?? 'qstamp <no-reply@localhost>', operator);
  const stopLink = `${baseUrl}${stopMailPath(stopTokenOf(recipientKey, recipient))}`;
  try {
    await mail.send(build({ from, to, workflowId, agentId, title, operator, stopLink, locale }));
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const { message: fault, isFinal } = error;
    const isOver = isFinal || clock() - job.acceptedAt >= tryForMs;
    await record(isOver ? { failedAt: new Date(clock()), fault } : { fault });
    if (!isOver) throw error;
    log.error({ ...logFields, fault }, `${name} was given up`);
    return;
  }
  await record({ sentAt: new Date(clock()) });
  log.info({ ...logFields, outcome: 'done' }, `${name} was sent`);
}

/** The sender has the operator's name, because the client knows the operator rather than the software. */
const senderOf = (configured: string, operator: Operator | null): Message['from'] =>
  operator ? { name: operator.name, address: /<([^<>]+)>\s*$/.exec(configured)?.[1] ?? configured.trim() } : configured;

const minuteMs = 60_000;

/**
 * Mails the challenge of a workflow. The challenge is derived from the ids of the workflow and the challenge with a key of the service. So only its
 * digest is stored, and a mail that is sent twice has the same challenge.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export async function sendOtpMail(tools: WorkerTools, job: JobPayload<'otp-mail'>): Promise<void> {
  const { config, store, clock } = tools;
  const { workflows } = store;
  const { workflowId, challengeId, baseUrl } = job;
  const randomness = createHmac('sha256', await store.keys.secret('challenge'))
    .update(`${workflowId}\n${challengeId}`)
    .digest();
  const { challenge, digest } = mintChallenge(randomness);
  const known = await workflows.find(workflowId);
  if (!known || known.mail?.sentAt || known.mail?.failedAt) return;
  const now = clock();
  const validUntil = new Date(Math.min(now + config.OTP_TTL_MINUTES * minuteMs, known.expiresAt.getTime()));
  const workflow = await workflows.offerChallenge(workflowId, { challengeId, digest, expiresAt: validUntil }, new Date(now));
  if (!workflow) return;
  await sendToClient(tools, {
    name: 'the mail with the link',
    workflow,
    job,
    baseUrl,
    build: (parts) =>
      buildOtpMessage({
        ...parts,
        link: `${baseUrl}${mailedLinkPath(workflowId, challenge)}`,
        confirmWith: config.CONFIRM_WITH,
        validUntil: validUntil.toISOString(),
        validSeconds: (validUntil.getTime() - now) / 1_000,
        messageKey: `otp-${challengeId}`,
      }),
    record: (outcome) => workflows.recordMail(workflowId, challengeId, outcome),
  });
}

/**
 * Tells the client of a completed workflow, once, what was made for him and where its evidence is (W27). Unconfirmed and erased addresses get no mail.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export async function sendCompletionMail(tools: WorkerTools, job: JobPayload<'completion-mail'>): Promise<void> {
  const { log } = tools;
  const { workflows } = tools.store;
  const { workflowId, requestId, baseUrl } = job;
  const workflow = await workflows.find(workflowId);
  if (!workflow?.emailVerifiedAt || workflow.redactedAt) return;
  const { completedAt, root, closing, closingRecord, completionMail } = workflow;
  if (!completedAt || !root || !closing || !closingRecord || completionMail?.sentAt || completionMail?.failedAt) return;
  const seals = await judgeSeals(tools, [closing.rootTokenId, closingRecord.tokenId]);
  if (!seals) {
    log.error({ requestId, workflowId }, 'the stamps of a completed workflow do not verify, so no mail is sent about it');
    return;
  }
  const fileNames = await readFileNames(tools, workflow);
  await sendToClient(tools, {
    name: 'the mail about a completed workflow',
    workflow,
    job,
    baseUrl,
    build: (parts) =>
      buildCompletionMessage({
        ...parts,
        fileNames,
        outputCount: root.outputCount,
        completedAt: completedAt.toISOString(),
        isTest: seals.isTest,
        pageLink: `${baseUrl}${workflowPath(workflowId)}`,
        bundleLink: `${baseUrl}${evidencePath(workflowId, 'zip')}`,
        messageKey: `completed-${workflowId}`,
      }),
    record: (outcome) => workflows.recordCompletionMail(workflowId, outcome),
  });
}

const mostFileNames = 10;

/** The names of the first outputs that the agent made public and that a mail may quote. */
async function readFileNames({ store: { outputs } }: WorkerTools, { _id, wordsKey: key }: WorkflowRecord): Promise<string[]> {
  const first = await outputs.list(_id, 1, mostFileNames);
  const names = first.map(({ tokenId, metadata }) => publicNameOf(key && metadata && decryptMetadata(key, tokenId, metadata), 'name'));
  return names.map((name) => quotableFileName(name ?? '')).filter((name) => name !== '');
}

/** Judges the stamps of root and closing record for this mail (V9). Undefined if one of them does not verify. */
async function judgeSeals({ store, tokenJudge }: WorkerTools, tokenIds: readonly string[]) {
  const stored = await store.stamps.findMany(tokenIds);
  const judged = await Promise.all(
    stored.map(({ proofs: [{ token, provider }], imprint }) => tokenJudge.judge(token, { provider, imprints: [imprint] })),
  );
  const proved = judged.filter((judgement) => judgement.ok);
  if (proved.length < tokenIds.length) return undefined;
  return { isTest: proved.some(({ qualification }) => trialOf(qualification) !== null) };
}

/** What every mail to a client has. */
interface ClientMail {
  /** The configured sender: `qstamp <no-reply@example.com>`, or his address with the operator's name. */
  readonly from: Message['from'];
  /** Used as exactly one e-mail address, even if it contains a comma. */
  readonly to: string;
  readonly workflowId: string;
  /** The agent's name for itself, unchanged. */
  readonly agentId: string;
  /** The public title of the briefing, unchanged; null if there is none. */
  readonly title: string | null;
  /** The operator of the service; null if not configured. */
  readonly operator: Operator | null;
  /** Absolute URL of the page that stops all mails to this recipient. */
  readonly stopLink: string;
  /** The language of the mail, as the agent asked for when it started the workflow. */
  readonly locale: Language;
  /** The same for every try of a job, so that mail programs show a mail once if it was sent twice. */
  readonly messageKey: string;
}

/** The contents of the mail with a challenge. */
interface OtpMail extends ClientMail {
  /** Absolute URL of the link, with the challenge, which is the secret in the mail. */
  readonly link: string;
  readonly confirmWith: ConfirmWith;
  /** RFC 3339, UTC. */
  readonly validUntil: string;
  readonly validSeconds: number;
}

/** The contents of the mail about a completed workflow (W27). */
export interface CompletionMail extends ClientMail {
  /** Public names of outputs that are safe to quote; perhaps not of all. */
  readonly fileNames: readonly string[];
  readonly outputCount: number;
  /** RFC 3339, UTC. */
  readonly completedAt: string;
  /** Whether the stamps that closed the workflow are for trials. */
  readonly isTest: boolean;
  /** Absolute URL of the workflow's page. */
  readonly pageLink: string;
  /** Absolute URL of the evidence bundle (zip). */
  readonly bundleLink: string;
}

const engines = new Map(languages.map((language) => [language, createViewEngine(language)]));

/** The mail with the link that confirms an address. */
export const buildOtpMessage = (mail: OtpMail): Message =>
  buildMessage('otp', mail, (agent, { t }) =>
    agent ? t('The AI agent “{agent}” asks you to confirm your e-mail address', { agent }) : t('Please confirm your e-mail address'),
  );

/** The mail that tells a client that his workflow was completed. */
export function buildCompletionMessage(mail: CompletionMail): Message {
  const { outputCount, fileNames, locale } = mail;
  const { t, tCount } = wordsOf(locale);
  const isEmpty = outputCount === 0;
  const outcome = isEmpty
    ? t('A record without files was closed for you')
    : tCount(outputCount, '{count} file was stamped for you', '{count} files were stamped for you');
  return buildMessage('completion', { ...mail, outcome, moreFiles: outputCount - fileNames.length }, (agent) => {
    if (!agent) return outcome;
    if (isEmpty) return t('The AI agent “{agent}” closed a record without files', { agent });
    return tCount(
      outputCount,
      'The AI agent “{agent}” recorded {count} file for you',
      'The AI agent “{agent}” recorded {count} files for you',
      { agent },
    );
  });
}

const domainOf = (from: Message['from']): string =>
  /@([^\s<>@]+)>?\s*$/.exec(typeof from === 'string' ? from : from.address)?.[1] ?? 'localhost';

/**
 * Makes a mail as text and as HTML from the same model. From the caller's input it quotes only names that `quotableName` lets through, marked as the
 * agent's own: the recipient must learn who asks, but strangers must not be able to put text into our mail.
 *
 * The recipient is an object, because a plain string with a comma would go to two people. `Auto-Submitted` keeps vacation responders quiet (RFC 3834
 * §5). `List-Unsubscribe` lets mail programs offer the link that stops the mails, with one click (RFC 8058).
 */
function buildMessage<Mail extends ClientMail>(
  kind: 'otp' | 'completion',
  mail: Mail,
  subjectOf: (agentName: string, words: Words) => string,
): Message {
  const views = engines.get(mail.locale)!;
  const agentName = quotableName(mail.agentId);
  const model = { ...mail, agentName, taskTitle: quotableName(mail.title ?? '') };
  return {
    from: mail.from,
    to: { name: '', address: mail.to },
    subject: subjectOf(agentName, wordsOf(mail.locale)),
    text: views.render(`./mail/${kind}-text.eta`, model),
    html: views.render(`./mail/${kind}-html.eta`, model),
    messageId: `<${mail.messageKey}@${domainOf(mail.from)}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'List-Unsubscribe': `<${mail.stopLink}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  };
}
