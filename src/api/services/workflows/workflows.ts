import type { StampStore } from '../../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../../shared/store/workflows.ts';
import { openWorkflow } from './access.ts';
import { type CompleteDeps, createCompletion } from './complete.ts';
import { createWorkflowPages } from './page.ts';
import { createRedaction } from './redact.ts';
import { createOutputStamping, type StampOutputDeps } from './stamp-output.ts';
import { createWorkflowStart, type StartDeps } from './start.ts';
import { createUserVerification } from './verify-user.ts';

export type WorkflowsDeps = StartDeps & StampOutputDeps & CompleteDeps & { readonly stamps: StampStore };

/** The operations on workflows, one file each. */
export function createWorkflows(deps: WorkflowsDeps) {
  const { workflows, outputs, stamps, counters, queue, jobs, waiter, idempotency, clock, log, ttlMs, waitMs, addressOf } = deps;
  return {
    /** @throws see `openWorkflow` */
    open: (workflowId: string, token: string | undefined) => openWorkflow(workflows, workflowId, token),
    exists: async (workflowId: string) => (await workflows.find(workflowId)) !== null,
    start: createWorkflowStart({ workflows, counters, jobs, idempotency, clock, log, ttlMs }),
    verifyUser: createUserVerification({ workflows, clock }),
    stampOutput: createOutputStamping({ queue, waiter, outputs, idempotency, clock, addressOf }),
    complete: createCompletion({ workflows, jobs, clock, waitMs, addressOf }),
    redact: createRedaction({ workflows, outputs, clock }),
    /**
     * Remembers that an operation without a body was done under this key, and says whether it was remembered before (S9). Call it when
     * the operation is done: a failure binds no key.
     */
    bindAnswer: async (workflow: WorkflowRecord, operation: 'complete' | 'redact', key: string | undefined): Promise<boolean> => {
      if (key === undefined) return false;
      const request = { caller: `workflow:${workflow._id}`, key, operation: `workflow_${operation}`, content: null };
      return (await idempotency.bind(request, workflow._id)).isRepeated;
    },
    page: createWorkflowPages({ workflows, outputs, stamps, clock, addressOf }),
  };
}

export type Workflows = ReturnType<typeof createWorkflows>;
