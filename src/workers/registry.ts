import type { JobProcessors } from '../shared/queue/jobs.ts';
import { createStampProcessor, type StampProcessorDeps } from './processors/stamp.ts';
import { createSweepProcessor } from './processors/sweep.ts';

export type WorkerDeps = StampProcessorDeps;

/** Job name → processor, complete by type. */
export function createProcessors(deps: WorkerDeps): JobProcessors {
  return {
    stamp: createStampProcessor(deps),
    sweep: createSweepProcessor(deps),
  };
}
