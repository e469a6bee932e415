/** Jobs of a workflow except its stamps: the mails to its client, and the completion. */
export { completeWorkflow } from './completion.ts';
export { sendCompletionMail } from './completion-mail.ts';
export { sendOtpMail } from './otp-mail.ts';
