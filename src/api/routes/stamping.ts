import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { text } from '../../shared/contract/fields.ts';
import type { StampToken } from '../../shared/contract/stamp.ts';
import type { StampAnswer } from '../services/stamping.ts';

/** Headers of every stamp operation. */
export const stampHeaders = z.object({
  'idempotency-key': text({ min: 1, max: 255, pattern: '^[\\x21-\\x7e]*$' }).optional(),
});

/** 201 with the stamp; a stamp that an earlier request made says so (S9). */
export function sendStamp(reply: FastifyReply, { stamp, isReplayed }: StampAnswer): StampToken {
  reply.code(201);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  return stamp;
}

/** base64 takes four bytes for three; the rest of a body is small. */
export const stampBodyLimit = (sealedMaxBytes: number): number => Math.ceil(sealedMaxBytes / 3) * 4 + 64 * 1024;
