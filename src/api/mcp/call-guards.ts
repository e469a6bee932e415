import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../shared/runtime/config.ts';
import type { Mistakes } from '../http/mistakes.ts';
import { addressKey, type CountingLimit, type CountingLimits } from '../http/rate-limits.ts';

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

/** Counts nothing. */
export const unguarded: CallGuards = {
  stamps: async () => undefined,
  start: async () => undefined,
  outputs: async () => undefined,
  verification: async () => undefined,
  lookUp: (work) => work(),
};

/** Those of REST, with the same counters. A product's stamps and verifications are not counted. */
export function createCallGuards(deps: {
  limits: CountingLimits;
  mistakes: Mistakes;
  agentLimit: CountingLimit;
  config: Pick<Config, 'RATE_VERIFY_PER_MINUTE' | 'RATE_WORKFLOW_START_PER_HOUR' | 'RATE_WORKFLOW_STAMP_PER_MINUTE'>;
}): (request: FastifyRequest, reply: FastifyReply, product: string | undefined) => CallGuards {
  const { limits, mistakes, agentLimit, config } = deps;
  const limitOf = (name: string, points: number, durationSeconds: number) => limits.by({ name, points, durationSeconds, key: addressKey });
  const starts = limitOf('workflow-start', config.RATE_WORKFLOW_START_PER_HOUR, 3_600);
  const outputs = limitOf('workflow-stamp', config.RATE_WORKFLOW_STAMP_PER_MINUTE, 60);
  const verifications = limitOf('verify', config.RATE_VERIFY_PER_MINUTE, 60);
  return (request, reply, product) => ({
    stamps: async (count) => void (product === undefined && (await agentLimit.items(request, reply, count))),
    start: () => starts(request, reply),
    outputs: (workflowId, count) => outputs.items(request, reply, count, workflowId),
    verification: async () => void (product === undefined && (await verifications(request, reply))),
    lookUp: (work) => mistakes.guard(request, reply, work),
  });
}
