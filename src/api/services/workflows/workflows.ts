import type { StampStore } from '../../../shared/store/stamps.ts';
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
  const { workflows } = deps;
  return {
    /** @throws see `openWorkflow` */
    open: (workflowId: string, token: string | undefined) => openWorkflow(workflows, workflowId, token),
    start: createWorkflowStart(deps),
    verifyUser: createUserVerification(deps),
    stampOutput: createOutputStamping(deps),
    complete: createCompletion(deps),
    redact: createRedaction(deps),
    page: createWorkflowPages(deps),
  };
}

export type Workflows = ReturnType<typeof createWorkflows>;
