/** Webhooks: who is told of a stamp, an output or a workflow, and when. */
export { createAnnouncements } from './announcements.ts';
export { createWebhookSender } from './sender.ts';
export { createWebhookProcessor, type WebhookDeps } from './webhook-job.ts';
