import { commitmentsOf, hashOfClosingText } from '../../shared/domain/proofs.ts';
import { reasonOf } from '../../shared/domain/reasons.ts';
import { type ClosingRecord, closingRecordOf, readClosingRecord } from '../../shared/proof/closing-record.js';
import type { ChainState } from '../../shared/store/outputs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { RecomputedChain } from './chain-proof.ts';
import { markStamp } from './stamp-marks.ts';
import type { StampedHash, WorkflowFault } from './workflow-model.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** A hash that was stamped when the workflow was completed, with its stamp, verified for this answer, and the stamp as stored. */
export interface Seal extends StampedHash {
  readonly stored: StoredStamp | null;
}

/** The seals of a completed workflow. A seal is null if the workflow is not completed, or its document lacks what was sealed. */
export interface Seals {
  readonly root: Seal | null;
  readonly closingRecord: Seal | null;
}

/** Loads and verifies the stamps of root and closing record. @throws ServiceError `store_unavailable` */
export async function readSeals(tools: WorkflowTools, { status, root, closing, closingRecord }: WorkflowRecord): Promise<Seals> {
  if (status !== 'completed' || !closing) return { root: null, closingRecord: null };
  const [rootSeal, recordSeal] = await Promise.all([
    root ? sealOf(tools, closing.rootTokenId, root.hash, closing.at) : null,
    closingRecord ? sealOf(tools, closingRecord.tokenId, hashOfClosingText(closingRecord.text), closing.at) : null,
  ]);
  return { root: rootSeal, closingRecord: recordSeal };
}

async function sealOf({ store, stampJudge }: WorkflowTools, tokenId: string, hash: string, recordedAt: Date): Promise<Seal> {
  const stored = await store.stamps.find(tokenId);
  const { issuedAt: stampedAt, provider } = stored?.proofs[0] ?? { issuedAt: recordedAt.toISOString(), provider: '' };
  return { hash, stamp: await markStamp(stampJudge, { tokenId, hash, stampedAt, provider }, stored), stored };
}

/**
 * Whether all seals of a workflow are proved, and its closing record has the same root, count and time as the workflow. The chain is not recomputed.
 */
export function isSealed({ root, closingRecord, completedAt }: WorkflowRecord, seals: Seals): boolean {
  const isProved = (seal: Seal | null) => seal?.stamp.verdict.kind === 'proved';
  if (!root || !closingRecord || !isProved(seals.root)) return false;
  const stamped = readClosingRecord(closingRecord.text);
  return (
    isProved(seals.closingRecord) &&
    stamped?.merkle_root === root.hash &&
    stamped.output_count === root.outputCount &&
    Date.parse(stamped.completed_at) === completedAt?.getTime()
  );
}

/**
 * The closing record that follows from the stored and recomputed data. If the chain is broken, its values are taken from the stamped record, because
 * that fault is reported elsewhere.
 */
function recordNow(workflow: WorkflowRecord, chain: RecomputedChain, stamped: ClosingRecord): ClosingRecord {
  const { redactedAt, salts, email, agentId } = workflow;
  const { email_commitment, agent_commitment } = stamped;
  const isKept = redactedAt !== undefined && email_commitment !== null && agent_commitment !== null;
  const sum = chain.fault
    ? { outputCount: stamped.output_count, chainHash: stamped.chain_hash, merkleRoot: stamped.merkle_root }
    : { outputCount: chain.end.sequenceNumber, chainHash: chain.end.chainHash, merkleRoot: chain.rootHash };
  return closingRecordOf({
    workflowId: workflow._id,
    tier: workflow.tier,
    briefingHash: workflow.briefingHash,
    createdAt: workflow.createdAt,
    confirmedAt: workflow.emailVerifiedAt,
    completedAt: workflow.completedAt ?? new Date(0),
    ...sum,
    // After redaction the salts are gone and nobody can recompute the commitments, so the stamped ones are used. The page then shows neither e-mail
    // address nor agent.
    commitments: isKept ? { email: email_commitment, agent: agent_commitment } : salts && commitmentsOf(salts, { email, agentId }),
  });
}

function recordFaults(workflow: WorkflowRecord, chain: RecomputedChain, { root, closingRecord: seal }: Seals): WorkflowFault[] {
  const { closingRecord, status } = workflow;
  if (status !== 'completed') return [];
  if (!closingRecord || !seal) return [{ kind: 'closing_record_stamp', reason: reasonOf('record_mismatch') }];
  if (seal.stamp.verdict.kind === 'refused') return [{ kind: 'closing_record_stamp', reason: seal.stamp.verdict.reason }];
  const stamped = readClosingRecord(closingRecord.text);
  if (!stamped) return [{ kind: 'closing_record_stamp', reason: reasonOf('record_mismatch') }];
  const now = recordNow(workflow, chain, stamped);
  const members = Object.keys(stamped) as (keyof ClosingRecord)[];
  const changed = new Set<string>(members.filter((member) => now[member] !== stamped[member]));
  // If the root's stamp is proved, the page shows its time as the time of completion.
  if (root?.stamp.verdict.kind === 'proved' && Date.parse(root.stamp.stampedAt) !== Date.parse(stamped.completed_at))
    changed.add('completed_at');
  return [...changed].map((member) => ({ kind: 'closing_record_mismatch', member }));
}

/** Whether a workflow is recorded as not completed although it has data that only completion writes. */
const isReopened = ({ status, closing, completedAt, closingRecord }: WorkflowRecord, end: ChainState | undefined): boolean =>
  (status !== 'completed' && completedAt !== undefined) ||
  ((status === 'pending' || status === 'active') && (closing !== undefined || closingRecord !== undefined || end?.isClosed === true));

/** The faults in the completion of a workflow: in its status, the stamp of its root, and its closing record (W18). */
export function closingFaults(
  workflow: WorkflowRecord,
  end: ChainState | undefined,
  chain: RecomputedChain,
  seals: Seals,
): readonly WorkflowFault[] {
  const faults: WorkflowFault[] = [];
  if (isReopened(workflow, end)) faults.push({ kind: 'closing_record_mismatch', member: 'status' });
  const { root } = seals;
  if (workflow.status === 'completed' && !root) faults.push({ kind: 'root_stamp', reason: reasonOf('unknown_token_id') });
  if (root?.stamp.verdict.kind === 'refused') faults.push({ kind: 'root_stamp', reason: root.stamp.verdict.reason });
  return [...faults, ...recordFaults(workflow, chain, seals)];
}
