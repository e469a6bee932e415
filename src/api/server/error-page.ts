import type { FastifyReply, FastifyRequest } from 'fastify';
import { varyByBrowser } from './accept.ts';

/** The model of the error page. The template chooses the text by the kind of page and the status. */
export interface ErrorPage {
  readonly what: 'workflow' | 'confirmation' | 'stop' | 'stamp' | 'content' | 'form' | 'page';
  readonly status: number;
  /** The same sentence as `detail` in a JSON answer. */
  readonly detail: string;
  readonly requestId: string;
  /** Null if a later retry does not help. */
  readonly retryAfterSeconds: number | null;
}

/** The kind of page that the person asked for, by the start of the route's path. */
const lookedFor: readonly (readonly [prefix: string, what: ErrorPage['what']])[] = [
  ['/workflow/', 'workflow'],
  ['/api/v1/workflow/:workflow_id/verify-user', 'confirmation'],
  ['/mail/stop/', 'stop'],
  ['/api/v1/verify/v1/token/', 'stamp'],
  ['/api/v1/sealed/', 'content'],
  ['/verify', 'form'],
];

/** Answers with an error page (V8). It must not be cached, because an error may be temporary. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  error: Pick<ErrorPage, 'status' | 'detail' | 'retryAfterSeconds'>,
): FastifyReply {
  const route = request.routeOptions.url ?? '';
  const what = lookedFor.find(([prefix]) => route.startsWith(prefix))?.[1] ?? 'page';
  reply.code(error.status).header('Cache-Control', 'no-store').header('X-Robots-Tag', 'noindex, nofollow').header('Vary', varyByBrowser);
  return reply.page('error', { ...error, what, requestId: request.id });
}
