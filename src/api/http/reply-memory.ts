import type { FastifyReply } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ByteBudget } from './byte-budget.ts';

/** The connection is closed when the client has read nothing for this long. */
const mostSilentMs = 30_000;

/**
 * Reserves the memory that a large answer takes until it is sent, or its client has left.
 *
 * @throws ServiceError `overloaded` after too long a wait; `bad_request` where the client left meanwhile
 */
export async function reserveForReply(budget: ByteBudget, reply: FastifyReply, bytes: number): Promise<void> {
  if (reply.raw.destroyed) throw new ServiceError('bad_request', 'The client left before its content was read.');
  const reservation = budget.reserve(bytes);
  reply.raw.once('close', reservation.release);
  await reservation.granted;
  const { raw } = reply.request;
  // Where nothing is to be read yet, the answer is still being made.
  raw.setTimeout(mostSilentMs, () => raw.socket.writableLength > 0 && raw.destroy());
}
