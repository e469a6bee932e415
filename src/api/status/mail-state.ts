import type { MailState } from '../../shared/domain/service-state.ts';
import type { Heartbeat } from '../../shared/queue/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

/** How long Redis may take to tell. */
const timeoutMs = 1_000;

/** Most important first: if one worker cannot send, that is a fault; else one that can is enough. */
const byWeight = ['failing', 'ok', 'unknown', 'not_configured'] as const satisfies readonly MailState[];

/** Several workers' views of the mail as one; undefined: Redis did not answer. */
export const mailStateOf = (heartbeats: readonly Pick<Heartbeat, 'mail'>[] | undefined): MailState =>
  byWeight.find((state) => heartbeats?.some(({ mail }) => mail === state)) ?? 'unknown';

/** Whether mails leave. Only `not_configured` means that none can be sent (W19): a mail that fails now is tried again for an hour (W12). */
export type ReadMailState = () => Promise<MailState>;

export const createMailStateReader =
  ({ readHeartbeats, clock }: { readHeartbeats: (nowMs: number) => Promise<Heartbeat[]>; clock: Clock }): ReadMailState =>
  async () =>
    mailStateOf(await answerWithin(timeoutMs, () => readHeartbeats(clock())));
