import { version } from '../shared/contract/version.ts';
import type { JobProcessors } from '../shared/queue/jobs.ts';
import type { Schedule } from '../shared/queue/schedules.ts';
import type { Config } from '../shared/runtime/config.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import { sweep } from './housekeeping/index.ts';
import { runRenewal } from './renewal/index.ts';
import { createStampProcessors } from './stamping/index.ts';
import type { WorkerTools } from './tools.ts';
import { refreshTrustedLists } from './trusted-lists/index.ts';
import { createWebhookProcessor, createWebhookSender } from './webhooks/index.ts';
import { completeWorkflow, sendCompletionMail, sendOtpMail } from './workflows/index.ts';

/** Maps each job name to its processor. The return type requires a processor for every job name. */
export function createProcessors(tools: WorkerTools): JobProcessors {
  const { config, listSources, store, clock } = tools;
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

const hourMs = 3_600_000;

/** The jobs that run at certain times, once for all workers. */
export function schedulesOf(config: Config): readonly Schedule[] {
  const schedules: readonly Schedule[] = [
    { name: 'sweep', everyMs: hourMs },
    // The stamps of each hour are counted again 15 minutes after the hour ends.
    { name: 'recount', everyMs: hourMs, pattern: '15 * * * *' },
    { name: 'qstamp-renew', everyMs: 24 * hourMs },
  ];
  return usesTrustedLists(config) ? [...schedules, { name: 'trusted-lists', everyMs: 6 * hourMs }] : schedules;
}
