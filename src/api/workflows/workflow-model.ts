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
  /** An open label (W3). */
  readonly type: string;
  readonly hash: string;
}

/** One page of a workflow's outputs, in their order. */
export interface OutputsPage {
  readonly rows: readonly OutputRow[];
  /** Over all pages. */
  readonly total: number;
  /** How many of all of them are recorded as stamped by a provider that is not qualified; the rows' own verdicts win. */
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

/** Something that does not fit: the words are the template's. */
export type WorkflowFault =
  /** The chain hash of this output is not that of its hash, its number and the link before (W8). */
  | { readonly kind: 'chain_hash_mismatch' | 'number_out_of_order'; readonly sequenceNumber: number }
  /** Another number of outputs is there than was closed or stamped. */
  | { readonly kind: 'output_count_mismatch'; readonly recorded: number; readonly found: number }
  /** The root of the outputs is not the one that is recorded (W9). */
  | { readonly kind: 'root_mismatch' }
  /** A fact on the page is not the one that the closing record was stamped with (W18): a member of the closing record, or the status. */
  | { readonly kind: 'closing_record_mismatch'; readonly member: string }
  /** The stamp of the root or of the closing record does not verify, or is not there (`unknown_token_id`). */
  | { readonly kind: 'root_stamp' | 'closing_record_stamp'; readonly reason: string }
  | { readonly kind: 'output_stamp'; readonly sequenceNumber: number; readonly reason: string };

/** What was recomputed and verified for this very answer (V9); stored flags decide nothing. */
export type WorkflowProof =
  /** Completed: chain, root and closing record recompute; their stamps and those of this page's outputs verify. */
  | { readonly kind: 'proved' }
  /** Not completed: the chain recomputes, the stamps of this page's outputs verify, and no root covers them yet. */
  | { readonly kind: 'open' }
  /** Nobody whom this installation trusts vouches for its stamps, or something is missing to judge them by. */
  | { readonly kind: 'not_proved' }
  /** A long chain is still being recomputed: nothing is claimed yet. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'broken'; readonly faults: readonly [WorkflowFault, ...WorkflowFault[]] };

/** What `?find=<SHA-256>` asked of the page: the numbers of the outputs with that hash, over all pages. */
export interface FindResult {
  readonly hash: string;
  readonly sequenceNumbers: readonly number[];
}

export interface WorkflowPage {
  readonly workflowId: string;
  /** Where this page is found, absolute: printed on paper, with a QR code. */
  readonly address: string;
  readonly proof: WorkflowProof;
  readonly status: WorkflowStatus;
  /** Closed, and its root is being stamped. */
  readonly isClosing: boolean;
  readonly tier: WorkflowTier;
  /** Whether the configuration can serve the tier (W19). */
  readonly isTierServed: boolean;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly completedAt: string | null;
  /** What the agent calls itself; null where redaction removed it. */
  readonly agentId: string | null;
  /** Masked (W11); null once redacted. */
  readonly maskedEmail: string | null;
  /** When the link of the mail was opened; null while the e-mail is unverified. */
  readonly emailVerifiedAt: string | null;
  /** How the mail with the link fares (W12). */
  readonly mail: LinkMailState;
  readonly briefingHash: string;
  readonly outputs: OutputsPage;
  /** The Merkle root (W9); null until completed. */
  readonly root: StampedHash | null;
  /** W18; null until completed, and for workflows that were completed without one. */
  readonly closingRecord: StampedHash | null;
  /** What anybody may fetch to recompute chain and record; no record where there is none. */
  readonly published: { readonly outputsUrl: string; readonly closingRecordUrl: string | null };
  /** Null until completed. */
  readonly evidence: { readonly jsonUrl: string; readonly zipUrl: string } | null;
  readonly find: FindResult | null;
  /** `?edition=print`: more outputs on a page, for paper. */
  readonly isPrintEdition: boolean;
  /** When the page was made. */
  readonly shownAt: string;
}

/** The page that an output is on, and its place there. */
export const outputPagePath = (workflowId: string, sequenceNumber: number): string =>
  `${workflowPath(workflowId)}?page=${Math.ceil(sequenceNumber / outputsPerPage.screen)}#output-${sequenceNumber}`;

/** What a person sees who has opened the link in the mail. */
export interface VerifyUserPage {
  readonly outcome: ChallengeOutcome;
  readonly workflowId: string;
  readonly workflowUrl: string;
}
