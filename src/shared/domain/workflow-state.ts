import { needsVerifiedEmail, type WorkflowTier } from './stamp.ts';

/** The stored state of a workflow. `closing`: it takes no more outputs, but root and closing record are not both stamped yet. */
export type StoredWorkflowStatus = 'pending' | 'active' | 'closing' | 'completed';

/** The states that readers see. `expired` is never stored; it follows from the time (W5). */
export const workflowStatuses = ['pending', 'active', 'completed', 'expired'] as const;
type WorkflowStatus = (typeof workflowStatuses)[number];

/** The state of the mail with the link (W12). */
export const linkMailStates = ['waiting', 'sent', 'failed'] as const;
export type LinkMailState = (typeof linkMailStates)[number];

export interface WorkflowSnapshot {
  readonly status: StoredWorkflowStatus;
  /** Whether the client has answered the challenge. A workflow of tier standard can be completed without this. */
  readonly isEmailVerified: boolean;
  readonly tier: WorkflowTier;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAtMs: number;
  readonly isRedacted: boolean;
}

/** A pending or active workflow expires at `expires_at`. A workflow that was closed before that time does not expire, and is completed later. */
const isExpired = ({ status, expiresAtMs }: WorkflowSnapshot, nowMs: number): boolean =>
  (status === 'pending' || status === 'active') && nowMs >= expiresAtMs;

/** Returns the status that answers and pages show at a given time. */
export function readStatus(workflow: WorkflowSnapshot, nowMs: number): WorkflowStatus {
  if (isExpired(workflow, nowMs)) return 'expired';
  if (workflow.status === 'closing') return workflow.isEmailVerified ? 'active' : 'pending';
  return workflow.status;
}

export type WorkflowOperation = 'verify_user' | 'resend' | 'stamp' | 'complete' | 'redact';

/**
 * How a workflow answers an operation. `go`: do it. `again`: it was already done, so give the first answer again. A refusal says whether it is
 * temporary (`conflict`) or permanent (`gone`), and why.
 */
type WorkflowAnswer = 'go' | 'again' | WorkflowRefusal;

export type WorkflowRefusal =
  | { readonly kind: 'conflict'; readonly reason: 'email_not_verified' | 'email_verified' | 'workflow_closed' }
  | { readonly kind: 'gone'; readonly reason: 'workflow_expired' | 'workflow_closed' | 'email_redacted' | 'challenge_used' };

const verified: WorkflowRefusal = { kind: 'conflict', reason: 'email_verified' };
const unverified: WorkflowRefusal = { kind: 'conflict', reason: 'email_not_verified' };
const closed: WorkflowRefusal = { kind: 'conflict', reason: 'workflow_closed' };
const expired: WorkflowRefusal = { kind: 'gone', reason: 'workflow_expired' };
const dead = (reason: 'workflow_closed' | 'challenge_used'): WorkflowRefusal => ({ kind: 'gone', reason });

type Row = Readonly<Record<Exclude<WorkflowOperation, 'redact'>, WorkflowAnswer>>;

/** The rules W2, W4, W5, W6 and W7 as a table: a row for each state, a column for each operation. */
const table = {
  pending: { verify_user: 'go', resend: 'go', stamp: 'go', complete: 'go' },
  pending_unverified: { verify_user: 'go', resend: 'go', stamp: unverified, complete: unverified },
  active: { verify_user: dead('challenge_used'), resend: verified, stamp: 'go', complete: 'go' },
  closing: { verify_user: dead('workflow_closed'), resend: closed, stamp: closed, complete: 'go' },
  completed: { verify_user: dead('workflow_closed'), resend: closed, stamp: closed, complete: 'again' },
  expired: { verify_user: expired, resend: expired, stamp: expired, complete: expired },
} as const satisfies Record<string, Row>;

function rowOf(workflow: WorkflowSnapshot, nowMs: number): Row {
  if (isExpired(workflow, nowMs)) return table.expired;
  if (workflow.status === 'pending' && needsVerifiedEmail(workflow.tier)) return table.pending_unverified;
  return table[workflow.status];
}

/**
 * Returns the answer to an operation on a workflow at a given time. For a closing workflow, `complete` gives `go`, so that the completion
 * continues. Redaction works in every state and can be repeated (W5); it also ends the challenge.
 */
export function answerTo(operation: WorkflowOperation, workflow: WorkflowSnapshot, nowMs: number): WorkflowAnswer {
  if (operation === 'redact') return workflow.isRedacted ? 'again' : 'go';
  const answer = rowOf(workflow, nowMs)[operation];
  if ((operation === 'verify_user' || operation === 'resend') && answer === 'go' && workflow.isRedacted)
    return { kind: 'gone', reason: 'email_redacted' };
  return answer;
}
