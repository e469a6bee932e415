import { verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import { maskEmail } from '../../../shared/domain/mask-email.ts';
import { readStatus } from '../../../shared/domain/workflow-state.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OutputRecord, OutputStore } from '../../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../../shared/store/stamps.ts';
import { snapshotOf, type WorkflowRecord, type WorkflowStore } from '../../../shared/store/workflows.ts';
import type { FindResult, OutputRow, TrustAnchor, WorkflowPage } from '../../pages/models.ts';

const pageSize = 100;
const mostFound = 100;

export interface PageQuery {
  /** From 1; a page that is not there reads as the nearest. */
  readonly page: number;
  /** SHA-256 that is looked for, lower-case hex. */
  readonly find?: string | undefined;
}

const rowOf = ({ tokenId, sequenceNumber, type, hash, stampedAt, provider, isQualified }: OutputRecord): OutputRow => ({
  tokenId,
  sequenceNumber,
  type,
  hash,
  stampedAt,
  provider,
  isQualified,
  verifyUrl: verifyPath(tokenId),
});

const anchorOf = (rootHash: string, { tokenId, proofs: [{ issuedAt, provider, isQualified }] }: StoredStamp): TrustAnchor => ({
  rootHash,
  stamp: { tokenId, stampedAt: issuedAt, provider, isQualified, verifyUrl: verifyPath(tokenId) },
});

/**
 * What the public page of a workflow shows; null when there is none. Nothing in it is secret.
 *
 * @throws ServiceError `store_unavailable`
 */
export function createWorkflowPages(deps: {
  workflows: WorkflowStore;
  outputs: OutputStore;
  stamps: StampStore;
  clock: Clock;
  addressOf: (path: string) => string;
}) {
  const { workflows, outputs, stamps, clock, addressOf } = deps;

  async function findAnchor({ status, root, closing }: WorkflowRecord): Promise<TrustAnchor | null> {
    if (status !== 'completed' || !root || !closing) return null;
    const stamp = await stamps.find(closing.rootTokenId);
    return stamp && anchorOf(root.hash, stamp);
  }

  async function findOutputs(workflowId: string, hash: string | undefined): Promise<FindResult | null> {
    return hash === undefined ? null : { hash, sequenceNumbers: await outputs.findNumbers(workflowId, hash, mostFound) };
  }

  return async (workflowId: string, query: PageQuery): Promise<WorkflowPage | null> => {
    const workflow = await workflows.find(workflowId);
    if (!workflow) return null;
    const { total, unqualifiedTotal } = await outputs.count(workflowId);
    const page = Math.min(Math.max(1, query.page), Math.max(1, Math.ceil(total / pageSize)));
    const [rows, anchor, find] = await Promise.all([
      outputs.list(workflowId, (page - 1) * pageSize + 1, pageSize),
      findAnchor(workflow),
      findOutputs(workflowId, query.find),
    ]);
    const now = clock();
    const isoOf = (date: Date | undefined): string | null => date?.toISOString() ?? null;
    return {
      workflowId,
      address: addressOf(workflowPath(workflowId)),
      status: readStatus(snapshotOf(workflow), now),
      isClosing: workflow.status === 'closing',
      tier: workflow.tier,
      startedAt: workflow.createdAt.toISOString(),
      expiresAt: workflow.expiresAt.toISOString(),
      completedAt: isoOf(workflow.completedAt),
      maskedEmail: workflow.redactedAt ? null : maskEmail(workflow.email),
      emailVerifiedAt: isoOf(workflow.emailVerifiedAt),
      briefingHash: workflow.briefingHash,
      // Counted before they were read: what was added in between is on the next view.
      outputs: { rows: rows.filter(({ sequenceNumber }) => sequenceNumber <= total).map(rowOf), total, unqualifiedTotal, page, pageSize },
      anchor,
      evidence: null,
      find,
      shownAt: new Date(now).toISOString(),
    };
  };
}
