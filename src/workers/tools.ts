import type { FailedJobs } from '../shared/queue/failed-jobs.ts';
import type { HandOver } from '../shared/queue/hand-over.ts';
import type { OutputOrder } from '../shared/queue/output-order.ts';
import type { WorkerReply } from '../shared/queue/replies.ts';
import type { JobSender } from '../shared/queue/sender.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Metrics } from '../shared/runtime/metrics.ts';
import type { MicroBatcher } from '../shared/runtime/micro-batcher.ts';
import type { InsertedStamp, StoredStamp } from '../shared/store/stamps.ts';
import type { Store } from '../shared/store/store.ts';
import type { TokenJudge } from '../shared/trust/judge.ts';
import type { TrustSettings } from '../shared/trust/trusted-providers.ts';
import type { createViewEngine } from '../shared/views/engine.ts';
import type { MailTransport } from './mail/index.ts';
import type { TimestampProvider } from './providers/index.ts';

/** The modules that a worker and the commands of an operator open. */
export interface SharedTools {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The modules that renew evidence, in a worker and in `qstamp renew`. */
export interface RenewalTools extends SharedTools {
  readonly config: Config;
  readonly trust: TrustSettings;
  readonly provider: TimestampProvider;
  readonly tokenJudge: TokenJudge;
  /** Only a worker shows metrics. */
  readonly metrics?: Metrics;
}

/** The modules that the jobs of a worker use. `main.ts` opens and closes them. */
export interface WorkerTools extends RenewalTools {
  /** Inserts the stamps of all jobs together, while an earlier insert is in progress. */
  readonly stampInserts: MicroBatcher<StoredStamp, InsertedStamp>;
  readonly jobs: JobSender;
  readonly failedJobs: FailedJobs;
  readonly outputOrder: OutputOrder;
  /** Moves items for which nobody waits into another queue. */
  readonly handOver: HandOver;
  readonly sendReplies: (replyTo: string, replies: readonly WorkerReply[]) => Promise<void>;
  /** The ids of sealed contents in unfinished jobs. */
  readonly readContentsUnderWay: () => Promise<ReadonlySet<string>>;
  readonly mail: MailTransport;
  readonly engine: ReturnType<typeof createViewEngine>;
  readonly metrics: Metrics;
  readonly monotonic: Clock;
}
