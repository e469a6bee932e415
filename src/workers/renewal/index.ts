/** Renews evidence before it expires: a new token covers it (RFC 4998 §5.2). */
export { runRenewal } from './renewal-job.ts';
