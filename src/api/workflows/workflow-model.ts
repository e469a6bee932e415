import { workflowPath } from '../../shared/domain/addresses.ts';
import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import type { WorkflowTier } from '../../shared/domain/stamp.ts';
import type { LinkMailState, WorkflowStatus } from '../../shared/domain/workflow-state.ts';
import type { StampMark } from '../verification/index.ts';

export interface OutputRow extends StampMark {
  readonly sequenceNumber: number;
  /** Free text (W3). */
  readonly type: string;
  /** The name that the holder of the workflow token made public (W24); null if there is none. It is not proved. */
  readonly name: string | null;
  readonly hash: string;
}

/** One page of a workflow's outputs, in their order. */
interface OutputsPage {
  readonly rows: readonly OutputRow[];
  /** The number of outputs on all pages. */
  readonly total: number;
  /**
   * The number of outputs on all pages that are recorded with a provider that is not qualified. For the rows of this page, the verified values count
   * instead.
   */
  readonly unqualifiedTotal: number;
  /** The number of this page, from 1. */
  readonly page: number;
  readonly pageSize: number;
}

/** A hash that was stamped when the workflow was completed. */
export interface StampedHash {
  /** SHA-256, lower-case hex. */
  readonly hash: string;
  readonly stamp: StampMark;
}

/** A fault in the record of a workflow. `workflow-view.ts` has the text for each. */
export type WorkflowFault =
  /** The chain hash of this output does not follow from its hash, its number and the previous link, or its number is not the next number. */
  | { readonly kind: 'chain_hash_mismatch' | 'number_out_of_order'; readonly sequenceNumber: number }
  /** The number of outputs differs from a recorded number. */
  | { readonly kind: 'output_count_mismatch'; readonly recorded: number; readonly found: number }
  /** The recomputed root of the outputs differs from the recorded root. */
  | { readonly kind: 'root_mismatch' }
  /** A fact on the page differs from the stamped closing record. `member` is a member of the record, or `status`. */
  | { readonly kind: 'closing_record_mismatch'; readonly member: string }
  /** The stamp of the root or of the closing record does not verify, or is missing (`unknown_token_id`). */
  | { readonly kind: 'root_stamp' | 'closing_record_stamp'; readonly reason: string }
  | { readonly kind: 'output_stamp'; readonly sequenceNumber: number; readonly reason: string };

/** The result of recomputing and verifying for this answer (V9). It never depends on stored flags. */
export type WorkflowProof =
  /**
   * The workflow is completed, recomputing gives the same chain, root and closing record, and their stamps and those of this page's outputs verify.
   */
  | { readonly kind: 'proved' }
  /**
   * The workflow is not completed. Recomputing gives the same chain, and the stamps of this page's outputs verify. No stamped root covers them yet.
   */
  | { readonly kind: 'open' }
  /**
   * No fault was found, but the chain of some stamp's signer does not lead to a trust anchor of this installation, or data for verification is
   * missing.
   */
  | { readonly kind: 'not_proved' }
  /** A long chain is still being recomputed, so nothing is proved yet. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'broken'; readonly faults: readonly [WorkflowFault, ...WorkflowFault[]] };

/** The result of `?find=<SHA-256>`: the numbers of the outputs with this hash, on all pages. */
export interface FindResult {
  readonly hash: string;
  readonly sequenceNumbers: readonly number[];
}

export interface WorkflowPage {
  readonly workflowId: string;
  /** The absolute URL of this page. It is printed on paper, with a QR code. */
  readonly address: string;
  readonly proof: WorkflowProof;
  readonly status: WorkflowStatus;
  /** True while the workflow is being completed: no output can be added, and the root is being stamped. */
  readonly isClosing: boolean;
  readonly tier: WorkflowTier;
  /** Whether this installation makes test stamps only. */
  readonly makesTestStamps: boolean;
  /** Whether the configured providers can serve the tier. */
  readonly isTierServed: boolean;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly completedAt: string | null;
  /** The name that the agent gave itself; null if redaction removed it. */
  readonly agentId: string | null;
  /** The title of the briefing that the holder of the workflow token made public (W24); null if there is none. It is not proved. */
  readonly title: string | null;
  /** Masked; null after redaction. */
  readonly maskedEmail: string | null;
  /** When the e-mail address was confirmed; null before that. */
  readonly emailVerifiedAt: string | null;
  /** What confirmed the address, or can confirm it. */
  readonly confirmWith: ConfirmWith;
  /** The state of the mail with the link. */
  readonly mail: LinkMailState;
  readonly briefingHash: string;
  readonly outputs: OutputsPage;
  /** The Merkle root and its stamp; null until the workflow is completed. */
  readonly root: StampedHash | null;
  /** The hash of the closing record and its stamp; null until the workflow is completed. */
  readonly closingRecord: StampedHash | null;
  /**
   * Public URLs of the data from which anyone can recompute the chain and the closing record. `closingRecordUrl` is null if there is no closing
   * record.
   */
  readonly published: { readonly outputsUrl: string; readonly closingRecordUrl: string | null };
  /** URLs of the evidence; null if there is no closing record. */
  readonly evidence: { readonly jsonUrl: string; readonly zipUrl: string } | null;
  readonly find: FindResult | null;
  /** When the page was made. */
  readonly shownAt: string;
}

/** The number of outputs on one page. */
export const outputsPerPage = 1_000;

/** The path of an output: the page that shows it, and its place on this page. A browser does not send the fragment, so the page is in the query. */
export const outputPagePath = (workflowId: string, sequenceNumber: number): string =>
  `${workflowPath(workflowId)}?page=${Math.ceil(sequenceNumber / outputsPerPage)}#output-${sequenceNumber}`;
