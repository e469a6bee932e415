import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Mistakes } from '../http/mistakes.ts';
import { addressKey, type RateLimits } from '../http/rate-limits.ts';
import type { Workflows } from '../services/workflows/workflows.ts';

export interface PublicWorkflowDeps {
  readonly workflows: Workflows;
  readonly limits: RateLimits;
  readonly mistakes: Mistakes;
  readonly perMinute: number;
}

/** How anybody reads of a workflow by its id: limited by address, and an unknown id counts as a mistake (R3). */
export function createPublicWorkflow({ workflows, limits, mistakes, perMinute }: PublicWorkflowDeps) {
  return {
    onRequest: limits.by({ name: 'verify', points: perMinute, durationSeconds: 60, key: addressKey }),
    /** @throws ServiceError `not_found`, `rate_limited`, `store_unavailable` */
    find: (request: FastifyRequest, reply: FastifyReply, workflowId: string) =>
      mistakes.count(request, reply, () => workflows.find(workflowId)),
  };
}

/** Of what everybody may see and nobody should find by searching. */
export const unlisted = (reply: FastifyReply): FastifyReply =>
  reply.header('Cache-Control', 'no-cache').header('X-Robots-Tag', 'noindex, nofollow');
