import { commitmentsOf } from '../../shared/domain/commitment.ts';
import { hashOfClosingText } from '../../shared/domain/proofs.ts';
import { reasonOf } from '../../shared/domain/reasons.ts';
import { type ClosingRecord, closingRecordOf, readClosingRecord } from '../../shared/proof/closing-record.js';
import type { ChainState } from '../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { RecomputedChain } from './chain-proof.ts';
import type { MarkStamp } from './stamp-marks.ts';
import type { StampedHash, WorkflowFault } from './workflow-model.ts';

/** A hash that was stamped when the workflow was completed, verified for this very answer, and the stamp as it is stored. */
export interface Seal extends StampedHash {
  readonly stored: StoredStamp | null;
}

/** What a workflow was closed with; null where it is not completed, or was completed without. */
export interface Seals {
  readonly root: Seal | null;
  readonly closingRecord: Seal | null;
}

/** Loads and verifies the stamps of root and closing record. @throws ServiceError `store_unavailable` */
export function createSealReader({ stamps, markStamp }: { stamps: StampStore; markStamp: MarkStamp }) {
  async function sealOf(tokenId: string, hash: string, recordedAt: Date): Promise<Seal> {
    const stored = await stamps.find(tokenId);
    const { issuedAt: stampedAt, provider } = stored?.proofs[0] ?? { issuedAt: recordedAt.toISOString(), provider: '' };
    return { hash, stamp: await markStamp({ tokenId, hash, stampedAt, provider }, stored), stored };
  }
  return async ({ status, root, closing, closingRecord }: WorkflowRecord): Promise<Seals> => {
    if (status !== 'completed' || !closing) return { root: null, closingRecord: null };
    const [rootSeal, recordSeal] = await Promise.all([
      root ? sealOf(closing.rootTokenId, root.hash, closing.at) : null,
      closingRecord ? sealOf(closingRecord.tokenId, hashOfClosingText(closingRecord.text), closing.at) : null,
    ]);
    return { root: rootSeal, closingRecord: recordSeal };
  };
}

/** Whether all that a workflow was closed with was verified, and its record names the same root and time (V9). Its chain is not recomputed. */
export function isSealed({ root, closingRecord, completedAt }: WorkflowRecord, seals: Seals): boolean {
  const isProved = (seal: Seal | null) => seal?.stamp.verdict.kind === 'proved';
  if (!root || !isProved(seals.root)) return false;
  // Workflows that were completed before there was a record have none (W18).
  if (!closingRecord) return true;
  const stamped = readClosingRecord(closingRecord.text);
  return (
    isProved(seals.closingRecord) &&
    stamped?.merkle_root === root.hash &&
    stamped.output_count === root.outputCount &&
    Date.parse(stamped.completed_at) === completedAt?.getTime()
  );
}

/** The closing record as it follows from what is stored and recomputed now; a chain that breaks has been told already. */
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
    // Once the salts are gone nobody can open the commitments: the page shows neither address nor agent then.
    commitments: isKept ? { email: email_commitment, agent: agent_commitment } : salts && commitmentsOf(salts, { email, agentId }),
  });
}

function recordFaults(workflow: WorkflowRecord, chain: RecomputedChain, { root, closingRecord: seal }: Seals): WorkflowFault[] {
  const { closingRecord } = workflow;
  if (!closingRecord || !seal) return [];
  if (seal.stamp.verdict.kind === 'refused') return [{ kind: 'closing_record_stamp', reason: seal.stamp.verdict.reason }];
  const stamped = readClosingRecord(closingRecord.text);
  if (!stamped) return [{ kind: 'closing_record_stamp', reason: reasonOf('record_mismatch') }];
  const now = recordNow(workflow, chain, stamped);
  const members = Object.keys(stamped) as (keyof ClosingRecord)[];
  const changed = new Set<string>(members.filter((member) => now[member] !== stamped[member]));
  // Where the root's stamp is good, its time is what the page shows.
  if (root?.stamp.verdict.kind === 'proved' && Date.parse(root.stamp.stampedAt) !== Date.parse(stamped.completed_at))
    changed.add('completed_at');
  return [...changed].map((member) => ({ kind: 'closing_record_mismatch', member }));
}

/** Whether a workflow reads as open though something is there that only its end leaves behind. */
const isReopened = ({ status, closing, completedAt, closingRecord }: WorkflowRecord, end: ChainState | undefined): boolean =>
  (status !== 'completed' && completedAt !== undefined) ||
  ((status === 'pending' || status === 'active') && (closing !== undefined || closingRecord !== undefined || end?.isClosed === true));

/** What does not fit about the end of a workflow: its status, the stamp of its root, its closing record (W18). */
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
