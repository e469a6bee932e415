/** Evidence that is due gets another token over it (RFC 4998 §5.2). */
export { createRenewProcessor, type RenewProcessorDeps } from './renewal-job.ts';
