import { version } from '../shared/contract/version.ts';
import type { JobProcessors } from '../shared/queue/jobs.ts';
import type { ListSources } from '../shared/trust/list-sources.ts';
import { sweep } from './housekeeping/index.ts';
import { runRenewal } from './renewal/index.ts';
import { createStampProcessors } from './stamping/index.ts';
import type { WorkerTools } from './tools.ts';
import { refreshTrustedLists } from './trusted-lists/index.ts';
import { createWebhookProcessor, createWebhookSender } from './webhooks/index.ts';
import { completeWorkflow, sendCompletionMail, sendOtpMail } from './workflows/index.ts';

/** Maps each job name to its processor. The return type requires a processor for every job name. */
export function createProcessors(tools: WorkerTools, listSources: ListSources): JobProcessors {
  const { config, store, clock } = tools;
  const sendWebhook = createWebhookSender({
    secrets: config.WEBHOOK_SECRET ?? [],
    isOpen: config.NODE_ENV !== 'production',
    clock,
    userAgent: `qstamp/${version}`,
  });
  return {
    ...createStampProcessors(tools),
    sweep: () => sweep(tools),
    recount: () => store.counters.recountEnded(clock()),
    'qstamp-renew': async () => void (await runRenewal(tools)),
    'trusted-lists': () => refreshTrustedLists(listSources, tools),
    'otp-mail': (job) => sendOtpMail(tools, job),
    'completion-mail': (job) => sendCompletionMail(tools, job),
    'workflow-completion': (job) => completeWorkflow(tools, job),
    webhook: createWebhookProcessor(tools, sendWebhook),
  };
}
