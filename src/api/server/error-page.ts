import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorPage } from './page-models.ts';

/** What a person looked for who meets an error, by the address of the route. */
const lookedFor: readonly (readonly [prefix: string, what: ErrorPage['what']])[] = [
  ['/workflow/', 'workflow'],
  ['/api/v1/workflow/:workflow_id/verify-user', 'confirmation'],
  ['/api/v1/verify/v1/token/', 'stamp'],
  ['/api/v1/sealed/', 'content'],
  ['/verify', 'form'],
];

/** Answers with an error's page (V8). Errors are of the moment: nobody keeps them. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  error: Pick<ErrorPage, 'status' | 'detail' | 'retryAfterSeconds'>,
): FastifyReply {
  const route = request.routeOptions.url ?? '';
  const what = lookedFor.find(([prefix]) => route.startsWith(prefix))?.[1] ?? 'page';
  reply.code(error.status).header('Cache-Control', 'no-store').header('X-Robots-Tag', 'noindex, nofollow').header('Vary', 'Accept');
  return reply.page('error', { ...error, what, requestId: request.id });
}
