import type { EncryptForStamp, Idempotency, Submission } from '../stamps/index.ts';
import type { ApiTools } from '../tools.ts';
import type { StampJudge } from '../verification/index.ts';

/** The tools of the operations on workflows: those of the API, and what they use of other capabilities. */
export interface WorkflowTools extends ApiTools {
  readonly submission: Submission;
  readonly idempotency: Idempotency;
  readonly encryptedOf: EncryptForStamp;
  readonly stampJudge: StampJudge;
  /** Whether mail can be sent. False only if a mail server is certainly not configured. */
  readonly canSendMail: () => Promise<boolean>;
  /** Whether the mock provider is the only one. */
  readonly makesTestStamps: boolean;
  /**
   * Whether a qualified stamp may be made now: the settings allow it, and by its last token a provider of some worker may be qualified. True also for
   * the mock provider alone, so that the tier can be tried (W2), and while no worker says anything.
   */
  readonly servesQualified: () => Promise<boolean>;
  /** Makes a path absolute if `PUBLIC_BASE_URL` is set (W13). */
  readonly addressOf: (path: string) => string;
}
