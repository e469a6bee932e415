import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * A hook for `onRequest` that refuses a request before its body is read, so that nobody sends a large body in vain. A body that arrived
 * in one piece with its head is left to the route, which must check again: FastAPI answers malformed JSON (422) before a missing token
 * (401), and so do we. `check` throws the refusal.
 */
export function beforeBody(
  check: (request: FastifyRequest, reply: FastifyReply) => unknown,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    await nextTurn();
    if (request.raw.complete === false) await check(request, reply);
  };
}
