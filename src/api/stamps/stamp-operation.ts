import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AcceptedStamp, acceptedStamp, pendingStamp, type StampToken, stampToken } from '../../shared/contract/stamp.ts';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import { acceptedHeaders, json } from '../server/operation.ts';
import { asyncApplied, type Preferences, patienceMsOf, readPrefer } from '../server/prefer.ts';
import type { AcceptedAnswer, StampAnswer, StampCommand, Stamping } from './stamping.ts';

/** 201 with the stamp; a stamp that an earlier request made says so (S9). */
export function sendStamp(reply: FastifyReply, { stamp, isReplayed }: StampAnswer): StampToken {
  reply.code(201);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return stamp;
}

/** Stamps, or only accepts where the client prefers that: 202 with the address that tells the outcome (N1). */
export async function answerStamp(
  request: FastifyRequest,
  reply: FastifyReply,
  stamping: Stamping,
  command: StampCommand,
): Promise<StampToken | AcceptedStamp> {
  const preferences = readPrefer(request.headers.prefer);
  if (!preferences.respondAsync) return sendStamp(reply, await stamping.stamp(command));
  const answer = await stamping.accept(command, patienceMsOf(preferences));
  return 'stamp' in answer ? sendStamp(reply, answer) : sendAccepted(reply, answer, preferences);
}

/** 202 with the address that tells the outcome (N1). */
export function sendAccepted<Accepted extends { readonly verify_url: string }>(
  reply: FastifyReply,
  { accepted, isReplayed }: AcceptedAnswer<Accepted>,
  preferences: Preferences,
): Accepted {
  reply.code(202).header('Preference-Applied', asyncApplied(preferences)).header('Location', accepted.verify_url);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return accepted;
}

/** What every stamp operation answers (E9–E11, S9). */
export const stampAnswers = {
  201: json('The stamp.', stampToken, { 'Idempotent-Replayed': '`true` where an earlier request with the same Idempotency-Key made it.' }),
  202: json('Accepted, where the client prefers not to wait (`Prefer: respond-async`).', acceptedStamp, acceptedHeaders),
  504: json('Accepted and not finished in time: it becomes readable at `verify_url`.', pendingStamp, { 'Retry-After': 'Seconds.' }),
};

export const stampErrors: readonly ErrorCode[] = [
  'idempotency_key_reused',
  'provider_failed',
  'queue_unavailable',
  'store_unavailable',
  'overloaded',
];
