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
  const { workflows, idempotency } = deps;
  return {
    /** @throws see `openWorkflow` */
    open: (workflowId: string, token: string | undefined) => openWorkflow(workflows, workflowId, token),
    start: createWorkflowStart(deps),
    verifyUser: createUserVerification(deps),
    stampOutput: createOutputStamping(deps),
    complete: createCompletion(deps),
    redact: createRedaction(deps),
    /** Whether an operation without a body was answered under this key before (S9). Ask when it is done: a failure binds no key. */
    wasAnswered: async (workflow: WorkflowRecord, operation: 'complete' | 'redact', key: string | undefined): Promise<boolean> => {
      if (key === undefined) return false;
      const request = { caller: `workflow:${workflow._id}`, key, operation: `workflow_${operation}`, content: null };
      return (await idempotency.bind(request, workflow._id)).isRepeated;
    },
    page: createWorkflowPages(deps),
  };
}

export type Workflows = ReturnType<typeof createWorkflows>;
