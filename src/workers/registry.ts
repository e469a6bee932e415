import type { FailedJobs } from '../shared/queue/failed-jobs.ts';
import type { FailedJob, JobProcessors } from '../shared/queue/jobs.ts';
import type { OutputOrder } from '../shared/queue/output-order.ts';
import type { CounterStore } from '../shared/store/counters.ts';
import type { OutputStore } from '../shared/store/outputs.ts';
import type { StampStore } from '../shared/store/stamps.ts';
import { createOtpMailProcessor, type OtpMailDeps } from './processors/otp-mail.ts';
import { createRenewProcessor, type RenewProcessorDeps } from './processors/renew.ts';
import { createStampProcessor, type StampProcessorDeps } from './processors/stamp.ts';
import { createSweepProcessor } from './processors/sweep.ts';
import { createWebhookProcessor, type WebhookDeps } from './processors/webhook.ts';
import { createWorkflowCompletionProcessor, type WorkflowCompletionDeps } from './processors/workflow-completion.ts';
import { createOutputAppender } from './stamping/output-appender.ts';
import { createStampMaker, type StampMakerDeps } from './stamping/stamp-maker.ts';

export type WorkerDeps = StampMakerDeps &
  Pick<StampProcessorDeps, 'refusals' | 'sealedContents' | 'sendReplies' | 'waitMs'> &
  OtpMailDeps &
  Omit<RenewProcessorDeps, 'stamps' | 'counters'> &
  Omit<WebhookDeps, 'stamps' | 'outputs' | 'workflows'> &
  Pick<StampProcessorDeps, 'announce'> &
  Pick<WorkflowCompletionDeps, 'announceCompleted'> & {
    readonly stamps: StampStore;
    readonly readContentsUnderWay: () => Promise<ReadonlySet<string>>;
    readonly listFailedJobs: FailedJobs['list'];
    readonly recordFailed: (job: FailedJob) => Promise<unknown>;
    readonly counters: CounterStore;
    readonly outputs: OutputStore;
    readonly outputOrder: OutputOrder;
  };

/** Job name → processor, complete by type. */
export function createProcessors(deps: WorkerDeps): JobProcessors {
  const { stamps, counters, outputs, outputOrder, workflows, sealedContents, sendReplies, waitMs, clock, log } = deps;
  const { refusals, challengeKey, mail, mailFrom, operator, engine, publicBaseUrl, otpTtlMinutes } = deps;
  const makeStamps = createStampMaker(deps);
  const appendOutputs = createOutputAppender({ outputs, workflows, order: outputOrder, log });
  return {
    stamp: createStampProcessor({
      makeStamps,
      appendOutputs,
      refusals,
      sealedContents,
      counters,
      sendReplies,
      announce: deps.announce,
      clock,
      log,
      waitMs,
    }),
    sweep: createSweepProcessor({
      sealedContents,
      readContentsUnderWay: deps.readContentsUnderWay,
      stamps,
      listFailedJobs: deps.listFailedJobs,
      recordFailed: deps.recordFailed,
      clock,
      log,
    }),
    recount: () => counters.recountEnded(clock()),
    'qstamp-renew': async () => void (await createRenewProcessor(deps)()),
    'otp-mail': createOtpMailProcessor({
      workflows,
      challengeKey,
      mail,
      mailFrom,
      operator,
      engine,
      publicBaseUrl,
      otpTtlMinutes,
      clock,
      log,
    }),
    'workflow-completion': createWorkflowCompletionProcessor({
      workflows,
      outputs,
      order: outputOrder,
      counters,
      makeStamps,
      announceCompleted: deps.announceCompleted,
      clock,
      log,
    }),
    webhook: createWebhookProcessor(deps),
  };
}
