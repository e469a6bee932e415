/** Sends webhooks about stamps, outputs and workflows. */

export { createWebhookSender } from './sender.ts';
export { announce, announceCompleted, createWebhookProcessor, mailCompleted } from './webhook-job.ts';
