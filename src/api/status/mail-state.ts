import type { MailState } from '../../shared/domain/service-state.ts';
import type { Heartbeat } from '../../shared/queue/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/within.ts';
import type { ApiTools } from '../tools.ts';

/** The maximum wait for an answer of Redis. */
const timeoutMs = 1_000;

/**
 * The first of these states that any worker reports is the state of all: one worker that cannot send is a fault; otherwise one worker that can send
 * is enough.
 */
const byWeight = ['failing', 'ok', 'unknown', 'not_configured'] as const satisfies readonly MailState[];

/** Combines the mail states of several workers. `heartbeats` is undefined if Redis did not answer. */
export const mailStateOf = (heartbeats: readonly Pick<Heartbeat, 'mail'>[] | undefined): MailState =>
  byWeight.find((state) => heartbeats?.some(({ mail }) => mail === state)) ?? 'unknown';

/** Whether mails can be sent. Only a missing mail server means that none can (W19): a mail that fails is retried for an hour (W12). */
export const canSendMail = async ({ readHeartbeats, clock }: ApiTools): Promise<boolean> =>
  mailStateOf(await answerWithin(timeoutMs, () => readHeartbeats(clock()))) !== 'not_configured';
