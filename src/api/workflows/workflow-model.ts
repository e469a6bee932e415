import { outputsPerPage, workflowPath } from '../../shared/domain/addresses.ts';
import type { WorkflowTier } from '../../shared/domain/tiers.ts';
import type { LinkMailState, WorkflowStatus } from '../../shared/domain/workflow-state.ts';
import type { StampMark } from '../verification/index.ts';
import type { ChallengeOutcome } from './verify-user.ts';

declare module '../server/views.ts' {
  interface PageModels {
    readonly workflow: WorkflowPage;
    readonly 'verify-user': VerifyUserPage;
  }
}

export interface OutputRow extends StampMark {
  readonly sequenceNumber: number;
  /** Free text (W3). */
  readonly type: string;
  readonly hash: string;
}

/** One page of a workflow's outputs, in their order. */
export interface OutputsPage {
  readonly rows: readonly OutputRow[];
  /** The number of outputs on all pages. */
  readonly total: number;
  /** How many of them are recorded with a provider that is not qualified. The verdicts of the rows take precedence. */
  readonly unqualifiedTotal: number;
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
}

/** A hash that was stamped when the workflow was completed. */
export interface StampedHash {
  /** SHA-256, lower-case hex. */
  readonly hash: string;
  readonly stamp: StampMark;
}

/** A fault in the record. The template has the words. */
export type WorkflowFault =
  /** The chain hash of this output does not follow from its hash, its number and the link before. */
  | { readonly kind: 'chain_hash_mismatch' | 'number_out_of_order'; readonly sequenceNumber: number }
  /** The number of outputs differs from the number that was closed or stamped. */
  | { readonly kind: 'output_count_mismatch'; readonly recorded: number; readonly found: number }
  /** The root of the outputs differs from the recorded one. */
  | { readonly kind: 'root_mismatch' }
  /** A fact on the page differs from the stamped closing record: one of its members, or the status. */
  | { readonly kind: 'closing_record_mismatch'; readonly member: string }
  /** The stamp of the root or of the closing record does not verify, or is missing (`unknown_token_id`). */
  | { readonly kind: 'root_stamp' | 'closing_record_stamp'; readonly reason: string }
  | { readonly kind: 'output_stamp'; readonly sequenceNumber: number; readonly reason: string };

/** The result of recomputing and verifying for this answer (V9). Stored flags decide nothing. */
export type WorkflowProof =
  /** Completed: recomputing gives the same chain, root and closing record; their stamps and those of this page's outputs verify. */
  | { readonly kind: 'proved' }
  /** Not completed: recomputing gives the same chain, the stamps of this page's outputs verify, and no root covers them yet. */
  | { readonly kind: 'open' }
  /** No trust anchor of this installation leads to its stamps, or data for verification is missing. */
  | { readonly kind: 'not_proved' }
  /** A long chain is still being recomputed, so nothing is claimed yet. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'broken'; readonly faults: readonly [WorkflowFault, ...WorkflowFault[]] };

/** The result of `?find=<SHA-256>`: the numbers of the outputs with that hash, on all pages. */
export interface FindResult {
  readonly hash: string;
  readonly sequenceNumbers: readonly number[];
}

export interface WorkflowPage {
  readonly workflowId: string;
  /** The absolute address of this page. It is printed on paper, with a QR code. */
  readonly address: string;
  readonly proof: WorkflowProof;
  readonly status: WorkflowStatus;
  /** Closed, and its root is being stamped. */
  readonly isClosing: boolean;
  readonly tier: WorkflowTier;
  /** Whether the configuration can serve the tier. */
  readonly isTierServed: boolean;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly completedAt: string | null;
  /** The agent's own name; null if redaction removed it. */
  readonly agentId: string | null;
  /** Masked; null after redaction. */
  readonly maskedEmail: string | null;
  /** When the link in the mail was opened; null while the e-mail is not verified. */
  readonly emailVerifiedAt: string | null;
  /** The state of the mail with the link. */
  readonly mail: LinkMailState;
  readonly briefingHash: string;
  readonly outputs: OutputsPage;
  /** The Merkle root; null until completed. */
  readonly root: StampedHash | null;
  /** Null until completed, and for workflows that were completed without one. */
  readonly closingRecord: StampedHash | null;
  /** Public addresses of the data to recompute chain and record. The second is null if there is no record. */
  readonly published: { readonly outputsUrl: string; readonly closingRecordUrl: string | null };
  /** Null until completed. */
  readonly evidence: { readonly jsonUrl: string; readonly zipUrl: string } | null;
  readonly find: FindResult | null;
  /** `?edition=print`: more outputs on a page, for paper. */
  readonly isPrintEdition: boolean;
  /** When the page was made. */
  readonly shownAt: string;
}

/** The address of an output: its page, and its place there. */
export const outputPagePath = (workflowId: string, sequenceNumber: number): string =>
  `${workflowPath(workflowId)}?page=${Math.ceil(sequenceNumber / outputsPerPage.screen)}#output-${sequenceNumber}`;

/** The page behind the link in the mail. */
export interface VerifyUserPage {
  readonly outcome: ChallengeOutcome;
  readonly workflowId: string;
  readonly workflowUrl: string;
}
