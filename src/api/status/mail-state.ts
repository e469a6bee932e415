import type { MailState } from '../../shared/domain/service-state.ts';
import type { Heartbeat } from '../../shared/queue/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

/** How long Redis may take to answer. */
const timeoutMs = 1_000;

/** Most important first: one worker that cannot send is a fault; otherwise one that can send is enough. */
const byWeight = ['failing', 'ok', 'unknown', 'not_configured'] as const satisfies readonly MailState[];

/** Combines the mail states of several workers; undefined means that Redis did not answer. */
export const mailStateOf = (heartbeats: readonly Pick<Heartbeat, 'mail'>[] | undefined): MailState =>
  byWeight.find((state) => heartbeats?.some(({ mail }) => mail === state)) ?? 'unknown';

/** Whether mails can be sent. Only `not_configured` means never (W19): a mail that fails is retried for an hour. */
export type ReadMailState = () => Promise<MailState>;

export const createMailStateReader =
  ({ readHeartbeats, clock }: { readHeartbeats: (nowMs: number) => Promise<Heartbeat[]>; clock: Clock }): ReadMailState =>
  async () =>
    mailStateOf(await answerWithin(timeoutMs, () => readHeartbeats(clock())));
