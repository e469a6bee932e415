import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import { findWorkflow, type WorkflowTools } from '../workflows/index.ts';

/**
 * Finds a workflow by its id, for callers without a token. An unknown id counts as a mistake (R3).
 *
 * @throws ServiceError `not_found`, `rate_limited`, `store_unavailable`
 */
export const publicWorkflowOf =
  ({ mistakes }: ServerContext, tools: WorkflowTools) =>
  (request: FastifyRequest, reply: FastifyReply, workflowId: string) =>
    mistakes.count(request, reply, () => findWorkflow(tools, workflowId));

/** Sets headers on a public answer that search engines should not list. */
export const unlisted = (reply: FastifyReply): FastifyReply =>
  reply.header('Cache-Control', 'no-cache').header('X-Robots-Tag', 'noindex, nofollow');
