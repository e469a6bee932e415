import type { StampTools } from '../stamps/index.ts';
import type { StampJudge } from '../verification/index.ts';
import type { ChainProver } from './chain-proof.ts';
import type { MarkStamp } from './stamp-marks.ts';

/** The tools of the operations on workflows: those of stamps, and what is remembered about workflows. */
export interface WorkflowTools extends StampTools {
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
  /** The chains that this process has recomputed. */
  readonly chains: ChainProver;
  /** Verifies the stamp of an output. Proved marks are remembered. */
  readonly markOutput: MarkStamp;
}
