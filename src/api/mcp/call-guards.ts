import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerContext } from '../server/context.ts';
import { addressKey } from '../server/rate-limits.ts';

/** The limits and guards of REST for what a tool does on behalf of a request. Each may throw ServiceError `rate_limited`. */
export interface CallGuards {
  /** Counts stamps of a caller without a service token (R2). */
  stamps(count: number): Promise<void>;
  /** Counts the start of a workflow (R1). */
  start(): Promise<void>;
  /** Counts outputs of a workflow (R1). */
  outputs(workflowId: string, count: number): Promise<void>;
  /** Counts a verification of a caller without a service token (R3). */
  verification(): Promise<void>;
  /** Does work that a wrong workflow token or an unknown id ends, and counts that (R5). */
  lookUp<Answer>(work: () => Promise<Answer>): Promise<Answer>;
}

/** Those of REST, with the same counters. A product's stamps and verifications are not counted. */
export function createCallGuards({ config, limits, mistakes, agentLimit, limitStarts, limitVerifying }: ServerContext) {
  const outputs = limits.by({
    name: 'workflow-stamp',
    points: config.RATE_WORKFLOW_STAMP_PER_MINUTE,
    durationSeconds: 60,
    key: addressKey,
  });
  return (request: FastifyRequest, reply: FastifyReply, product: string | undefined): CallGuards => ({
    stamps: async (count) => void (product === undefined && (await agentLimit.items(request, reply, count))),
    start: () => limitStarts(request, reply),
    outputs: (workflowId, count) => outputs.items(request, reply, count, workflowId),
    verification: async () => void (product === undefined && (await limitVerifying(request, reply))),
    lookUp: (work) => mistakes.guard(request, reply, work),
  });
}
