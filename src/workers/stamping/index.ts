/** Makes and stores stamps for accepted items, and appends outputs to the chain of their workflow. */
export { recordFailedStamps } from './failed-stamps.ts';
export { withSpaceRecord } from './space-record.ts';
export { createStampProcessors } from './stamp-job.ts';
export { createStampInserts, makeStamps } from './stamp-maker.ts';
