import type { JobSender } from '../../../shared/queue/job-sender.ts';
import type { StampQueue } from '../../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Logger } from '../../../shared/runtime/log.ts';
import type { CounterStore } from '../../../shared/store/counters.ts';
import type { OutputStore } from '../../../shared/store/outputs.ts';
import type { StampStore } from '../../../shared/store/stamps.ts';
import type { WorkflowRecord, WorkflowStore } from '../../../shared/store/workflows.ts';
import type { Idempotency } from '../idempotency.ts';
import type { ReplyWaiter } from '../reply-waiter.ts';
import type { EncryptForStamp } from '../stamp-item.ts';
import type { StampJudge } from '../stamp-judge.ts';
import type { WriteWatch } from '../write-watch.ts';
import { findWorkflow, openWorkflow } from './access.ts';
import { createChainProver } from './chain-proof.ts';
import { createChallengeMailer } from './challenge-mailer.ts';
import { createCompletion } from './complete.ts';
import { createEvidence } from './evidence/evidence.ts';
import { createWorkflowPages } from './page.ts';
import { createWorkflowProofs } from './proof.ts';
import { createPublished } from './published.ts';
import { createRedaction } from './redact.ts';
import { createResend } from './resend.ts';
import { createSealedChainProver } from './sealed-chain.ts';
import { createStampMarks, rememberMarks } from './stamp-marks.ts';
import { createOutputStamping } from './stamp-output.ts';
import { createWorkflowStart } from './start.ts';
import { createWorkflowState } from './state.ts';
import { createTreeProofs } from './tree-proofs.ts';
import { createUserVerification } from './verify-user.ts';

export interface WorkflowsDeps {
  readonly workflows: WorkflowStore;
  readonly outputs: OutputStore;
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly queue: StampQueue;
  readonly writes: Pick<WriteWatch, 'checkStore'>;
  readonly jobs: JobSender;
  readonly waiter: ReplyWaiter;
  readonly idempotency: Idempotency;
  readonly stampJudge: StampJudge;
  /** Whether some worker can send mail, as far as is known (W19). */
  readonly canSendMail: () => Promise<boolean>;
  /** Whether a qualified stamp can be made as the service is configured (W19). */
  readonly servesQualified: boolean;
  /** Revocation lists of the providers, PEM or DER, as they are configured. */
  readonly revocationLists: readonly Buffer[];
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a workflow may stay open (W5). */
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly encryptedOf: EncryptForStamp;
  /** Makes an address of ours absolute when it is to be (W13). */
  readonly addressOf: (path: string) => string;
}

/** The operations on workflows, one file each. */
export function createWorkflows(deps: WorkflowsDeps) {
  const { workflows, outputs, stamps, counters, queue, writes, jobs, waiter, idempotency, stampJudge } = deps;
  const { canSendMail, servesQualified, revocationLists, clock, log, ttlMs, waitMs, encryptedOf, addressOf } = deps;
  const mailer = createChallengeMailer({ jobs, canSendMail, clock });
  const chains = createChainProver({ outputs });
  const markStamp = createStampMarks(stampJudge);
  const prove = createWorkflowProofs({ chains, stamps, markStamp, markOutput: rememberMarks(markStamp) });
  const proveSealedChain = createSealedChainProver({ chains, stamps, markStamp, waitMs });
  return {
    /** @throws see `openWorkflow` */
    open: (workflowId: string, token: string | undefined) => openWorkflow(workflows, workflowId, token),
    /** @throws ServiceError `store_unavailable` */
    exists: async (workflowId: string) => (await workflows.find(workflowId)) !== null,
    /** @throws see `findWorkflow` */
    find: (workflowId: string) => findWorkflow(workflows, workflowId),
    start: createWorkflowStart({ workflows, counters, mailer, jobs, idempotency, clock, log, ttlMs, addressOf }),
    state: createWorkflowState({ outputs, clock, addressOf }),
    resend: createResend({ workflows, mailer, idempotency, clock, addressOf }),
    verifyUser: createUserVerification({ workflows, jobs, clock }),
    ...createOutputStamping({ queue, writes, waiter, outputs, idempotency, clock, waitMs, encryptedOf, servesQualified, addressOf }),
    complete: createCompletion({ workflows, stamps, markStamp, jobs, clock, waitMs, servesQualified, addressOf }),
    redact: createRedaction({ workflows, outputs, clock }),
    /**
     * Records that this operation was done under this key, and answers whether that was recorded before (S9). Call it after the
     * operation, so that a failed one uses up no key.
     */
    bindAnswer: async (workflow: WorkflowRecord, operation: 'complete' | 'redact', key: string | undefined): Promise<boolean> => {
      if (key === undefined) return false;
      const request = { caller: `workflow:${workflow._id}`, key, operation: `workflow_${operation}`, content: null };
      return (await idempotency.bind(request, workflow._id)).isRepeated;
    },
    proveSealedChain,
    proofs: createTreeProofs({ proveSealedChain, outputs, addressOf }),
    evidence: createEvidence({ proveSealedChain, outputs, stamps, stampJudge, revocationLists }),
    published: createPublished({ outputs, clock, addressOf }),
    page: createWorkflowPages({ workflows, outputs, prove, servesQualified, clock }),
  };
}

export type Workflows = ReturnType<typeof createWorkflows>;
