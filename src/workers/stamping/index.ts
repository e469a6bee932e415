/** Makes and stores stamps for accepted items, and appends outputs to the chain of their workflow. */
export { createStampProcessors, recordFailedStamps, tellFailed } from './stamp-job.ts';
export { makeStamps } from './stamp-maker.ts';
