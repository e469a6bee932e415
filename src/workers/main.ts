import { randomUUID } from 'node:crypto';
import { connectWorker, disconnect } from '../shared/queue/connection.ts';
import { consumeJobs, type Schedule, scheduleJob } from '../shared/queue/consumer.ts';
import { createContentsUnderWay } from '../shared/queue/contents-under-way.ts';
import { openFailedJobs } from '../shared/queue/failed-jobs.ts';
import { createHandOver } from '../shared/queue/hand-over.ts';
import { startHeartbeat } from '../shared/queue/heartbeat.ts';
import { type FailedJob, isStampJob } from '../shared/queue/jobs.ts';
import { createOutputOrder } from '../shared/queue/output-order.ts';
import { watchOversleepers } from '../shared/queue/oversleepers.ts';
import { openProviderNotes } from '../shared/queue/provider-notes.ts';
import { sendReplies } from '../shared/queue/replies.ts';
import { createJobSender } from '../shared/queue/sender.ts';
import { systemClock } from '../shared/runtime/clock.ts';
import type { Config } from '../shared/runtime/config.ts';
import { type ProcessContext, runProcess } from '../shared/runtime/lifecycle.ts';
import { createMetrics, serveMetrics } from '../shared/runtime/metrics.ts';
import { answerWithin } from '../shared/runtime/within.ts';
import { noLists, watchLists } from '../shared/store/lists-in-force.ts';
import { openStore } from '../shared/store/store.ts';
import { createTokenJudge } from '../shared/trust/judge.ts';
import { loadListSources, usesTrustedLists } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { createViewEngine } from '../shared/views/engine.ts';
import { createMailTransport, withMailRecord } from './mail/index.ts';
import { createListingKeeper, openProvider, openTsas } from './providers/index.ts';
import { createProcessors } from './registry.ts';
import { createStampInserts, recordFailedStamps, withSpaceRecord } from './stamping/index.ts';
import type { WorkerTools } from './tools.ts';

/** How long the start waits until the store is prepared. If that takes longer, for example because MongoDB is down, it continues while jobs run. */
const longestPreparingMs = 10_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const schedules: readonly Schedule[] = [
  { name: 'sweep', everyMs: hourMs },
  // The stamps of each hour are counted again 15 minutes after the hour ends.
  { name: 'recount', everyMs: hourMs, pattern: '15 * * * *' },
  { name: 'qstamp-renew', everyMs: dayMs },
];
const listSchedule: Schedule = { name: 'trusted-lists', everyMs: 6 * hourMs };

/** Opens all resources of a worker process and starts to take jobs. `lifecycle` closes the resources when the process ends. */
export async function openWorker({ config, log, lifecycle }: ProcessContext<Config>): Promise<{ url?: string }> {
  const trust = loadTrustSettings(config);
  const listSources = loadListSources(config);
  const redis = connectWorker(config.REDIS_URL, log);
  lifecycle.onClose('redis', () => disconnect(redis));
  const notes = openProviderNotes({ redis, log });
  // Done before anything that may wait, so that an unusable key ends the process at once.
  let lists = noLists;
  const tsas = await openTsas(trust.providers, {
    notes,
    lists: () => lists.current(),
    keepListing: createListingKeeper(
      (listing) => store.listings.insertOnce(listing),
      () => lists.current(),
    ),
    clock: systemClock,
    log,
  });
  const store = openStore(config, log);
  lifecycle.onClose('store', () => store.close());
  if (usesTrustedLists(config)) lists = await watchLists(store.trustedLists, log);
  lifecycle.onClose('trusted lists', () => lists.stop());
  await store.openKeys();
  // Done before jobs are taken, if it takes only a moment: writes may wait for an index that is being built.
  await answerWithin(longestPreparingMs, store.prepare);

  const metrics = createMetrics({ clock: systemClock });
  const { provider, health, close } = openProvider({
    config,
    tsas,
    mockKey: () => store.keys.secret('mock-provider'),
    notes,
    clock: systemClock,
    log,
    onCall: metrics.stamped,
    keepBatch: store.batches.insertOnce,
  });
  lifecycle.onClose('provider', close);
  const { mail, readState } = withMailRecord(createMailTransport(config.SMTP_URL), {
    isConfigured: config.SMTP_URL !== undefined,
    onMail: metrics.mailed,
  });
  const { stamps, isFull } = withSpaceRecord(store.stamps, { onChange: () => heartbeat.beat() });
  const jobs = createJobSender({ redis, log });
  lifecycle.onClose('jobs', () => jobs.close());
  const promised = createHandOver({ redis, log });
  lifecycle.onClose('promised stamps', () => promised.close());
  const failedJobs = openFailedJobs({ redis, log });
  lifecycle.onClose('failed jobs', () => failedJobs.close());
  const tools: WorkerTools = {
    config,
    trust,
    store: { ...store, stamps },
    provider,
    tokenJudge: createTokenJudge({
      trust,
      lists: () => lists.current(),
      mockKey: () => store.keys.secret('mock-provider'),
      clock: systemClock,
    }),
    stampInserts: createStampInserts(stamps),
    jobs,
    failedJobs,
    outputOrder: createOutputOrder(redis),
    handOver: promised.handOver,
    sendReplies: (replyTo, replies) => sendReplies({ redis, log }, replyTo, replies),
    readContentsUnderWay: createContentsUnderWay({ redis, log }),
    mail,
    engine: createViewEngine(),
    metrics,
    clock: systemClock,
    monotonic: () => performance.now(),
    log,
  };
  const tellFailed = async (job: FailedJob) => {
    const replies = await recordFailedStamps(tools, job);
    if (isStampJob(job) && replies.length > 0) await tools.sendReplies(job.payload.replyTo, replies);
  };
  if (config.SMTP_URL === undefined) log.warn({ outcome: 'advice' }, 'SMTP_URL is not set: workflows cannot send e-mail');
  const consumer = consumeJobs({
    redis,
    processors: createProcessors(tools, listSources),
    concurrency: config.WORKER_CONCURRENCY,
    log,
    onFailed: metrics.jobFailed,
    onGivenUp: tellFailed,
  });
  lifecycle.onClose('consumer', () => consumer.close());
  const heartbeat = startHeartbeat({
    redis,
    workerId: randomUUID(),
    clock: systemClock,
    log,
    describeProviders: health,
    describeMail: readState,
    isStoreFull: isFull,
  });
  lifecycle.onClose('heartbeat', () => heartbeat.stop());
  if (config.METRICS_PORT !== undefined) {
    const served = await serveMetrics({
      metrics,
      host: config.HOST,
      port: config.METRICS_PORT,
      readHealth: health,
      readLists: usesTrustedLists(config) ? store.trustedLists.readInForce : undefined,
    });
    lifecycle.onClose('metrics', served.close);
    log.info({ metricsUrl: served.url }, 'metrics are served');
  }
  const ownSchedules = usesTrustedLists(config) ? [...schedules, listSchedule] : schedules;
  for (const schedule of ownSchedules) await scheduleJob(redis, schedule, log);
  const oversleepers = watchOversleepers({ redis, schedules: ownSchedules, log });
  lifecycle.onClose('oversleepers', oversleepers.stop);
  return {};
}

if (import.meta.main) await runProcess('worker', process.env, openWorker);
