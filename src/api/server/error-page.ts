import type { FastifyReply, FastifyRequest } from 'fastify';

/** Any error, for a person. The template chooses the text by the kind of page and the status. */
export interface ErrorPage {
  readonly what: 'workflow' | 'confirmation' | 'stamp' | 'content' | 'form' | 'page';
  readonly status: number;
  /** The public sentence of the error: `detail` in JSON. */
  readonly detail: string;
  readonly requestId: string;
  /** Null if a later retry does not help. */
  readonly retryAfterSeconds: number | null;
}

/** The kind of page that the person asked for, by the address of the route. */
const lookedFor: readonly (readonly [prefix: string, what: ErrorPage['what']])[] = [
  ['/workflow/', 'workflow'],
  ['/api/v1/workflow/:workflow_id/verify-user', 'confirmation'],
  ['/api/v1/verify/v1/token/', 'stamp'],
  ['/api/v1/sealed/', 'content'],
  ['/verify', 'form'],
];

/** Answers with an error page (V8). Errors are temporary, so nobody may cache them. */
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
