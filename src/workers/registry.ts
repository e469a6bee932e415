import type { JobProcessors } from '../shared/queue/jobs.ts';
import type { OutputStore } from '../shared/store/outputs.ts';
import { createOtpMailProcessor, type OtpMailDeps } from './processors/otp-mail.ts';
import { createStampProcessor, type StampProcessorDeps } from './processors/stamp.ts';
import { createSweepProcessor } from './processors/sweep.ts';
import { createWorkflowCompletionProcessor } from './processors/workflow-completion.ts';
import { createOutputAppender } from './stamping/output-appender.ts';
import { createStampMaker, type StampMakerDeps } from './stamping/stamp-maker.ts';

export type WorkerDeps = StampMakerDeps &
  Pick<StampProcessorDeps, 'sealedContents' | 'sendReplies' | 'waitMs'> &
  OtpMailDeps & { readonly outputs: OutputStore };

/** Job name → processor, complete by type. */
export function createProcessors(deps: WorkerDeps): JobProcessors {
  const makeStamps = createStampMaker(deps);
  return {
    stamp: createStampProcessor({ ...deps, makeStamps, appendOutput: createOutputAppender(deps) }),
    sweep: createSweepProcessor(deps),
    'otp-mail': createOtpMailProcessor(deps),
    'workflow-completion': createWorkflowCompletionProcessor({ ...deps, makeStamps }),
  };
}
