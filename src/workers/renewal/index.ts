/** Renews evidence with another token over it before it expires (RFC 4998 §5.2). */
export { createRenewProcessor, type RenewProcessorDeps } from './renewal-job.ts';
