/** Makes and stores stamps for accepted items, and appends outputs to the chain of their workflow. */
export { recordFailedStamps } from './failed-stamps.ts';
export { createOutputAppender } from './output-appender.ts';
export { withSpaceRecord } from './space-record.ts';
export { createStampProcessor, type StampProcessorDeps } from './stamp-job.ts';
export { createStampMaker, type MakeStamps, type StampMakerDeps } from './stamp-maker.ts';
