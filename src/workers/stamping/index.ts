/** Makes and stores stamps for accepted items, and appends outputs to the chain of their workflow. */
export { recordFailedStamps, tellFailed } from './failed-stamps.ts';
export { createStampProcessors } from './stamp-job.ts';
export { makeStamps } from './stamp-maker.ts';
