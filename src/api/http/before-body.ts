import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Creates a hook for `onRequest` that refuses a request before its body is read, so that a client does not send a large body in vain. `check` throws
 * the refusal. If the body arrived together with the head, the hook does nothing and the route must check: like FastAPI, we answer malformed JSON
 * (422) before a missing token (401).
 */
export function beforeBody(
  check: (request: FastifyRequest, reply: FastifyReply) => unknown,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    await nextTurn();
    if (request.raw.complete === false) await check(request, reply);
  };
}
