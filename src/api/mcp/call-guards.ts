import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import { createMailLimits, type WorkflowTools } from '../workflows/index.ts';

/** The rate limits of the REST API, applied to a tool call. Each function may throw ServiceError `rate_limited`. */
export interface CallGuards {
  /** Counts stamps of the product. */
  stamps(count: number): Promise<void>;
  /** Counts the start of a workflow, and the mail to its client. */
  start(email: string): Promise<void>;
  /** Counts outputs of a workflow. */
  outputs(workflowId: string, count: number): Promise<void>;
  /** Runs `work`, and counts a mistake if it fails because of a wrong workflow token or an unknown id (R5). */
  lookUp<Answer>(work: () => Promise<Answer>): Promise<Answer>;
}

/** Creates the guards of a call. They use the same counters as the REST API. A product's verifications are not counted. */
export function createCallGuards(context: ServerContext, tools: WorkflowTools) {
  const { mistakes, productLimit, outputLimit } = context;
  const mailLimits = createMailLimits(context, tools);
  return (request: FastifyRequest, reply: FastifyReply): CallGuards => ({
    stamps: (count) => productLimit.items(request, reply, count),
    start: (email) => mailLimits.start(request, reply, email),
    outputs: (workflowId, count) => outputLimit.items(request, reply, count, workflowId),
    lookUp: (work) => mistakes.guard(request, reply, work),
  });
}
