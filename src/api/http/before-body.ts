import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';

/**
 * A hook for `onRequest`: who is not let in learns it before the body is read, and sends it for nothing. A body that came together
 * with its head is looked at first all the same, so that malformed JSON is 422 before a missing token is 401, as FastAPI has it; for
 * these the route itself checks. `check` throws what the request is refused with.
 */
export function beforeBody(check: (request: FastifyRequest) => unknown): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    await nextTurn();
    if (request.raw.complete === false) await check(request);
  };
}
