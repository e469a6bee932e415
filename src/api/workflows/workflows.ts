import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { startDeadline, storeBefore } from '../stamps/index.ts';
import { findWorkflow, openWorkflow } from './access.ts';
import { createChainProver } from './chain-proof.ts';
import { createChallengeMailer } from './challenge-mailer.ts';
import { createCompletion } from './complete.ts';
import { createOutputStamping } from './outputs.ts';
import { createWorkflowPages } from './page.ts';
import { createWorkflowProofs } from './proof.ts';
import { createRecipients } from './recipients.ts';
import { createRedaction } from './redact.ts';
import { createResend } from './resend.ts';
import { createSealedChainProver } from './sealed-chain.ts';
import { createStampMarks, rememberMarks } from './stamp-marks.ts';
import { createWorkflowStart } from './start.ts';
import { createWorkflowState } from './state.ts';
import { createTreeProofs } from './tree-proofs.ts';
import { createUserVerification } from './verify-user.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** Creates the operations on workflows. Most have their own file. */
export function createWorkflows(tools: WorkflowTools) {
  const { config, idempotency, stampJudge, clock, addressOf } = tools;
  const { workflows, outputs, stamps } = tools.store;
  const { STAMP_WAIT_MS: waitMs } = config;
  const mailer = createChallengeMailer(tools);
  const chains = createChainProver({ outputs });
  const markStamp = createStampMarks(stampJudge);
  const prove = createWorkflowProofs({ chains, stamps, markStamp, markOutput: rememberMarks(markStamp) });
  const proveSealedChain = createSealedChainProver({ chains, stamps, markStamp, waitMs });
  return {
    /** @param spentMs the time that the request has spent before. @throws the same errors as `openWorkflow` */
    open: (workflowId: string, token: string | undefined, spentMs?: number) =>
      storeBefore(startDeadline({ clock, waitMs, spentMs }), () => openWorkflow(workflows, workflowId, token)),
    /** @throws ServiceError `store_unavailable` */
    exists: async (workflowId: string) => (await workflows.find(workflowId)) !== null,
    /** @throws the same errors as `findWorkflow` */
    find: (workflowId: string) => findWorkflow(workflows, workflowId),
    recipients: createRecipients(tools),
    /** Whether this installation makes test stamps only. */
    makesTestStamps: tools.makesTestStamps,
    start: createWorkflowStart(tools, mailer),
    state: createWorkflowState(tools),
    resend: createResend(tools, mailer),
    ...createUserVerification(tools),
    stampOutputs: createOutputStamping(tools),
    complete: createCompletion(tools, markStamp),
    redact: createRedaction(tools),
    /**
     * Records that this operation was done with this idempotency key, and returns whether that was recorded before. Call it after the operation, so
     * that a failed operation does not use up the key.
     */
    bindAnswer: async (workflow: WorkflowRecord, operation: 'complete' | 'redact', key: string | undefined): Promise<boolean> => {
      const request = { caller: `workflow:${workflow._id}`, key, operation: `workflow_${operation}`, content: null };
      return (await idempotency.identify(request)).isRepeated;
    },
    proveSealedChain,
    proofs: createTreeProofs({ proveSealedChain, outputs, addressOf }),
    page: createWorkflowPages(tools, prove),
  };
}

export type Workflows = ReturnType<typeof createWorkflows>;
