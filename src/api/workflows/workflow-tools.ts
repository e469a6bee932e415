import type { JobSender } from '../../shared/queue/job-sender.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore } from '../../shared/store/counters.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';
import type { WriteWatch } from '../server/write-watch.ts';
import type { EncryptForStamp, Idempotency, ReplyWaiter } from '../stamps/index.ts';
import type { StampJudge } from '../verification/index.ts';

/** What the operations on workflows work with. */
export interface WorkflowTools {
  readonly workflows: WorkflowStore;
  readonly outputs: OutputStore;
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly queue: StampQueue;
  readonly writes: Pick<WriteWatch, 'checkStore'>;
  readonly jobs: JobSender;
  readonly waiter: ReplyWaiter;
  readonly idempotency: Idempotency;
  readonly stampJudge: StampJudge;
  /** Whether some worker can send mail, as far as is known (W19). */
  readonly canSendMail: () => Promise<boolean>;
  /** Whether a qualified stamp can be made as the service is configured (W19). */
  readonly servesQualified: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a workflow may stay open (W5). */
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly encryptedOf: EncryptForStamp;
  /** Makes an address of ours absolute when it is to be (W13). */
  readonly addressOf: (path: string) => string;
}
