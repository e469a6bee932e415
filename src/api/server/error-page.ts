import type { FastifyReply, FastifyRequest } from 'fastify';

/** Any error, for a person (V8): the words are the template's, by what was looked for and the status. */
export interface ErrorPage {
  readonly what: 'workflow' | 'confirmation' | 'stamp' | 'content' | 'form' | 'page';
  readonly status: number;
  /** The public sentence of the error, as JSON has it in `detail`. */
  readonly detail: string;
  readonly requestId: string;
  /** Null where coming back later does not help. */
  readonly retryAfterSeconds: number | null;
}

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
