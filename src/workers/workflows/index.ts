/** Jobs of a workflow except its stamps: the mails to its client, and the completion. */
export { createWorkflowCompletionProcessor, type WorkflowCompletionDeps } from './completion.ts';
export { type CompletionMailDeps, createCompletionMailProcessor } from './completion-mail.ts';
export { withMailRecord } from './mail-record.ts';
export { createOtpMailProcessor, type OtpMailDeps } from './otp-mail.ts';
export { createMailTransport } from './transport.ts';
