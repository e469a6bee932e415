/** Jobs of a workflow except its stamps: the mails to its client, and the completion. */

export { completeWorkflow } from './completion.ts';
export { sendCompletionMail, sendOtpMail } from './mails.ts';
