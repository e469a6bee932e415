/** Jobs of a workflow except its stamps: the mail with the link, and the completion. */
export { createWorkflowCompletionProcessor, type WorkflowCompletionDeps } from './completion.ts';
export { withMailRecord } from './mail-record.ts';
export { createOtpMailProcessor, type OtpMailDeps } from './otp-mail.ts';
export { createMailTransport } from './transport.ts';
