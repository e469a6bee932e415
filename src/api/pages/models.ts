import type { StatusResponse } from '../../shared/contract/status.ts';
import type { ChallengeRefusal } from '../../shared/domain/challenge.ts';
import type { WorkflowTier } from '../../shared/domain/tiers.ts';
import type { WorkflowStatus } from '../../shared/domain/workflow-state.ts';

/**
 * What each page is told. Times are RFC 3339 in UTC, hashes lower-case hex, addresses relative; templates write them for people.
 * Nothing here is secret: no whole e-mail address, no token of a caller, no metadata.
 */

/** Who vouches for a time, and how far. */
export interface StampMark {
  readonly tokenId: string;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly verifyUrl: string;
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
  /** How many of all of them were stamped by a provider that is not qualified. */
  readonly unqualifiedTotal: number;
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
}

export interface TrustAnchor {
  readonly rootHash: string;
  readonly stamp: StampMark;
}

/** What `?find=<SHA-256>` asked of the page: the numbers of the outputs with that hash, over all pages. */
export interface FindResult {
  readonly hash: string;
  readonly sequenceNumbers: readonly number[];
}

export interface WorkflowPage {
  readonly workflowId: string;
  /** Where this page is found, absolute when `PUBLIC_BASE_URL` is set: printed on paper. */
  readonly address: string;
  readonly status: WorkflowStatus;
  /** Closed, and its root is being stamped. */
  readonly isClosing: boolean;
  readonly tier: WorkflowTier;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly completedAt: string | null;
  /** Masked (W11); null once redacted. */
  readonly maskedEmail: string | null;
  /** Null while the e-mail is unverified. */
  readonly emailVerifiedAt: string | null;
  readonly briefingHash: string;
  readonly outputs: OutputsPage;
  /** Null until completed. */
  readonly anchor: TrustAnchor | null;
  /** Null until completed. */
  readonly evidence: { readonly jsonUrl: string; readonly zipUrl: string } | null;
  readonly find: FindResult | null;
  /** When the page was made. */
  readonly shownAt: string;
}

export interface VerifyUserPage {
  readonly outcome:
    | { readonly kind: 'verified' }
    /** 403: wrong, but tries are left (W6); 0 when this was the last one. */
    | { readonly kind: 'wrong'; readonly triesLeft: number }
    /** 410 (W5, W6, W7). */
    | { readonly kind: ChallengeRefusal | 'workflow_expired' | 'workflow_closed' | 'email_redacted' };
  readonly workflowId: string;
  readonly workflowUrl: string;
}

export interface NotFoundPage {
  /** What was looked for: a workflow that is unknown (W14), or any other page. */
  readonly what: 'workflow' | 'page';
}

export interface StartPage {
  readonly version: string;
  /** Where the service is reached, for the example: `PUBLIC_BASE_URL` or the address asked for. */
  readonly baseUrl: string;
  readonly provider: { readonly name: string; readonly isQualified: boolean };
}

/** A day of the chart; days without traffic may be left out. */
export interface DayFigures {
  /** `2026-11-21`, in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
}

export interface StatusPage {
  readonly status: StatusResponse;
  /** Parts of the service beside the providers. */
  readonly components: readonly { readonly name: string; readonly status: StatusResponse['status']; readonly note: string }[];
  /** The last 30 days, in any order. */
  readonly days: readonly DayFigures[];
}

/** One operation as the documents show it. */
export interface DocsOperation {
  readonly id: string;
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** The header that carries the caller's token, where one is needed. */
  readonly tokenHeader: string | null;
  readonly parameters: readonly {
    readonly name: string;
    readonly place: string;
    readonly required: boolean;
    readonly description: string;
    readonly type: string;
    readonly example: string;
  }[];
  readonly body: { readonly schema: string; readonly example: string } | null;
  readonly answers: readonly {
    readonly status: string;
    readonly description: string;
    readonly mediaTypes: readonly string[];
    readonly example: string | null;
  }[];
}

export interface DocsPage {
  readonly version: string;
  /** What holds for many operations, in plain text. */
  readonly guide: readonly { readonly title: string; readonly paragraphs: readonly string[] }[];
  readonly groups: readonly { readonly name: string; readonly operations: readonly DocsOperation[] }[];
}

/** Every page by the name of its template. */
export interface PageModels {
  readonly workflow: WorkflowPage;
  readonly 'verify-user': VerifyUserPage;
  readonly 'not-found': NotFoundPage;
  readonly status: StatusPage;
  readonly start: StartPage;
  readonly docs: DocsPage;
}
