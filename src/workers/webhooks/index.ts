/** Sends webhooks about stamps, outputs and workflows. */
export { announce, announceCompleted, mailCompleted } from './announcements.ts';
export { createWebhookSender } from './sender.ts';
export { createWebhookProcessor } from './webhook-job.ts';
