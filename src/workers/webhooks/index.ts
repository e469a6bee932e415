/** Sends webhooks about stamps, outputs and workflows. */
export { createAnnouncements } from './announcements.ts';
export { createWebhookSender } from './sender.ts';
export { createWebhookProcessor, type WebhookDeps } from './webhook-job.ts';
