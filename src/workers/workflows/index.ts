/** Jobs of a workflow except its stamps: the mails to its client, and the completion. */

export { sendCompletionMail, sendOtpMail } from './client-mail.ts';
export { completeWorkflow } from './completion.ts';
