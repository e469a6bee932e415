import type { FailedJobs } from '../shared/queue/failed-jobs.ts';
import type { FailedJob, JobProcessors } from '../shared/queue/jobs.ts';
import type { OutputOrder } from '../shared/queue/output-order.ts';
import type { CounterStore } from '../shared/store/counters.ts';
import type { OutputStore } from '../shared/store/outputs.ts';
import type { StampStore } from '../shared/store/stamps.ts';
import { createSweepProcessor } from './housekeeping/index.ts';
import { createRenewProcessor, type RenewProcessorDeps } from './renewal/index.ts';
import {
  createOutputAppender,
  createStampMaker,
  createStampProcessor,
  type StampMakerDeps,
  type StampProcessorDeps,
} from './stamping/index.ts';
import { createRefreshProcessor, type RefreshDeps } from './trusted-lists/index.ts';
import { createWebhookProcessor, type WebhookDeps } from './webhooks/index.ts';
import {
  type CompletionMailDeps,
  createCompletionMailProcessor,
  createOtpMailProcessor,
  createWorkflowCompletionProcessor,
  type OtpMailDeps,
  type WorkflowCompletionDeps,
} from './workflows/index.ts';

export type WorkerDeps = StampMakerDeps &
  Pick<StampProcessorDeps, 'refusals' | 'sealedContents' | 'sendReplies' | 'waitMs' | 'handOver'> &
  OtpMailDeps &
  Omit<CompletionMailDeps, 'workflows' | 'stamps'> &
  Omit<RenewProcessorDeps, 'stamps' | 'counters'> &
  Omit<RefreshDeps, 'clock' | 'log'> &
  Omit<WebhookDeps, 'stamps' | 'outputs' | 'workflows'> &
  Pick<StampProcessorDeps, 'announce'> &
  Pick<WorkflowCompletionDeps, 'announceCompleted' | 'mailCompleted'> & {
    readonly stamps: StampStore;
    readonly readContentsUnderWay: () => Promise<ReadonlySet<string>>;
    readonly listFailedJobs: FailedJobs['list'];
    readonly recordFailed: (job: FailedJob) => Promise<unknown>;
    readonly counters: CounterStore;
    readonly outputs: OutputStore;
    readonly outputOrder: OutputOrder;
  };

/** Maps each job name to its processor. The return type requires a processor for every job name. */
export function createProcessors(deps: WorkerDeps): JobProcessors {
  const { counters, outputOrder: order, clock } = deps;
  const makeStamps = createStampMaker(deps);
  const appendOutputs = createOutputAppender({ ...deps, order });
  return {
    stamp: createStampProcessor({ ...deps, makeStamps, appendOutputs }),
    'promised-stamp': createStampProcessor({ ...deps, makeStamps, appendOutputs, handOver: undefined }),
    sweep: createSweepProcessor(deps),
    recount: () => counters.recountEnded(clock()),
    'qstamp-renew': async () => void (await createRenewProcessor(deps)()),
    'trusted-lists': createRefreshProcessor(deps),
    'otp-mail': createOtpMailProcessor(deps),
    'completion-mail': createCompletionMailProcessor(deps),
    'workflow-completion': createWorkflowCompletionProcessor({ ...deps, order, makeStamps }),
    webhook: createWebhookProcessor(deps),
  };
}
