import type { KeyObject } from 'node:crypto';
import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import type { JobSender } from '../../shared/queue/sender.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { BlockedRecipientStore } from '../../shared/store/blocked-recipients.ts';
import type { CounterStore } from '../../shared/store/counters.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';
import type { WriteWatch } from '../server/write-watch.ts';
import type { EncryptForStamp, Idempotency, Submission } from '../stamps/index.ts';
import type { StampJudge } from '../verification/index.ts';

/** The dependencies of the operations on workflows. */
export interface WorkflowTools {
  readonly workflows: WorkflowStore;
  readonly outputs: OutputStore;
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly submission: Submission;
  readonly writes: WriteWatch;
  readonly jobs: JobSender;
  readonly idempotency: Idempotency;
  readonly stampJudge: StampJudge;
  readonly blockedRecipients: BlockedRecipientStore;
  /** The key of `recipientHash`. */
  readonly recipientKey: () => Promise<KeyObject>;
  /** Whether mail can be sent. False only if a mail server is certainly not configured. */
  readonly canSendMail: () => Promise<boolean>;
  /** Whether the mock provider is the only one. */
  readonly makesTestStamps: boolean;
  /**
   * Whether a qualified stamp may be made now: the settings allow it, and by its last token a provider of some worker may be qualified. True also for
   * the mock provider alone, so that the tier can be tried (W2), and while no worker says anything.
   */
  readonly servesQualified: () => Promise<boolean>;
  /** What confirms an e-mail address in new mails. */
  readonly confirmWith: ConfirmWith;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a workflow may stay open after its start. */
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly encryptedOf: EncryptForStamp;
  /** Makes a path absolute if `PUBLIC_BASE_URL` is set (W13). */
  readonly addressOf: (path: string) => string;
}
