import { openFailedJobs } from '../shared/queue/failed-jobs.ts';
import { createOutputOrder } from '../shared/queue/output-order.ts';
import { readContentsUnderWay } from '../shared/queue/queue-state.ts';
import { completionStreamOf, sendReplies, type WorkerReply } from '../shared/queue/replies.ts';
import { createHandOver, createJobSender } from '../shared/queue/sender.ts';
import { connectWorker, disconnect } from '../shared/redis/connection.ts';
import { openProviderNotes } from '../shared/redis/provider-notes.ts';
import type { Config } from '../shared/runtime/config.ts';
import type { ProcessContext } from '../shared/runtime/lifecycle.ts';
import type { Logger } from '../shared/runtime/log.ts';
import { createMetrics, type Metrics } from '../shared/runtime/metrics.ts';
import { answerWithin, type Clock, systemClock } from '../shared/runtime/timers.ts';
import { openStore, type Store } from '../shared/store/store.ts';
import { noLists, watchLists } from '../shared/store/trusted-lists.ts';
import { createTokenJudge, type TokenJudge } from '../shared/trust/judge.ts';
import { loadListSources, usesTrustedLists } from '../shared/trust/list-sources.ts';
import { loadTrustSettings, type TrustSettings } from '../shared/trust/trusted-providers.ts';
import { openMail } from './mail/index.ts';
import { createListings, openProvider, openTsas, type TimestampProvider } from './providers/index.ts';
import { createStampInserts } from './stamp-inserts.ts';

/** The tools that a worker and the commands of an operator open. */
export interface SharedTools {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The tools that renew evidence, in a worker and in `qstamp renew`. */
export interface RenewalTools extends SharedTools {
  readonly config: Config;
  readonly trust: TrustSettings;
  readonly provider: TimestampProvider;
  readonly tokenJudge: TokenJudge;
  /** Only a worker shows metrics. */
  readonly metrics?: Metrics;
}

/** The tools that every job of a worker gets whole. */
export type WorkerTools = Awaited<ReturnType<typeof openWorkerTools>>['tools'];

/** How long the start waits until the store is prepared. If that takes longer, for example because MongoDB is down, it continues while jobs run. */
const longestPreparingMs = 10_000;

/** Opens the tools of a worker, and the connection to Redis that takes its jobs. `lifecycle` closes them again when the process ends. */
export async function openWorkerTools({ config, log, lifecycle }: ProcessContext<Config>) {
  const clock = systemClock;
  const trust = loadTrustSettings(config);
  const listSources = loadListSources(config);
  const redis = connectWorker(config, log);
  lifecycle.onClose('redis', () => disconnect(redis));
  const notes = openProviderNotes({ redis, log });
  let lists = noLists;
  const currentLists = () => lists.current();
  const listings = createListings(currentLists, (listing) => store.listings.insertOnce(listing));
  // Done before anything that may wait, so that an unusable key ends the process at once.
  const tsas = await openTsas(trust.providers, { notes, listings, clock, log });
  const store = openStore(config, log);
  lifecycle.onClose('store', () => store.close());
  if (usesTrustedLists(config)) lists = await watchLists(store.trustedLists, log);
  lifecycle.onClose('trusted lists', () => lists.stop());
  await store.openKeys();
  // Done before jobs are taken, if it takes only a moment: writes may wait for an index that is being built.
  await answerWithin(longestPreparingMs, store.prepare);

  const metrics = createMetrics({ clock });
  const { provider, readHealth, close } = openProvider(tsas, { config, store, notes, metrics, clock, log });
  lifecycle.onClose('provider', close);
  const jobs = createJobSender({ redis, log });
  lifecycle.onClose('jobs', () => jobs.close());
  const promised = createHandOver({ redis, log });
  lifecycle.onClose('promised stamps', () => promised.close());
  const failedJobs = openFailedJobs({ redis, log });
  lifecycle.onClose('failed jobs', () => failedJobs.close());

  const tools = {
    config,
    trust,
    listSources,
    store,
    stampInserts: createStampInserts(store.stamps),
    provider,
    readHealth,
    tokenJudge: createTokenJudge({ trust, lists: currentLists, mockKey: () => store.keys.secret('mock-provider'), clock }),
    jobs,
    failedJobs,
    outputOrder: createOutputOrder(redis),
    handOver: promised.handOver,
    sendReplies: (replyTo: string, replies: readonly WorkerReply[]) => sendReplies({ redis, log }, replyTo, replies),
    completionStream: completionStreamOf(redis),
    readContentsUnderWay: () => readContentsUnderWay({ redis, log }),
    mail: openMail(config, metrics, log),
    metrics,
    clock,
    /** The monotonic clock, in milliseconds. It cannot be set. */
    monotonic: () => performance.now(),
    log,
  };
  return { redis, tools };
}
