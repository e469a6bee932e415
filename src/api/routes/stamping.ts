import type { FastifyReply } from 'fastify';
import { pendingStamp, type StampToken, stampToken } from '../../shared/contract/stamp.ts';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import { json } from '../openapi/operation.ts';
import type { StampAnswer } from '../services/stamping.ts';

/** 201 with the stamp; a stamp that an earlier request made says so (S9). */
export function sendStamp(reply: FastifyReply, { stamp, isReplayed }: StampAnswer): StampToken {
  reply.code(201);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return stamp;
}

/**
 * base64 takes four characters for three bytes. Each may be a slash, and PHP and others write a slash in JSON as `\/`: two bytes for
 * one. The rest of a body is small.
 */
export const stampBodyLimit = (sealedMaxBytes: number): number => Math.ceil(sealedMaxBytes / 3) * 4 * 2 + 64 * 1024;

/** What every stamp operation answers (E9–E11, S9). */
export const stampAnswers = {
  201: json('The stamp.', stampToken, { 'Idempotent-Replayed': '`true` where an earlier request with the same Idempotency-Key made it.' }),
  504: json('Accepted and not finished in time: it becomes readable at `verify_url`.', pendingStamp, { 'Retry-After': 'Seconds.' }),
};

export const stampErrors: readonly ErrorCode[] = [
  'idempotency_key_reused',
  'provider_failed',
  'queue_unavailable',
  'store_unavailable',
  'overloaded',
];
