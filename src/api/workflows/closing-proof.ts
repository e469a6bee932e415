import { setTimeout as delay } from 'node:timers/promises';
import type { ConsistencyProofShown, InclusionProofShown } from '../../shared/contract/workflow-proof.ts';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { commitmentsOf, hashOfClosingText, verifyConsistency, verifyInclusion } from '../../shared/domain/proofs.ts';
import { reasonOf } from '../../shared/domain/reasons.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type ClosingRecord, closingRecordOf, readClosingRecord } from '../../shared/proof/closing-record.js';
import { hexOf, octetsOfSha256 } from '../../shared/proof/octets.js';
import type { ChainState } from '../../shared/store/outputs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { RecomputedChain } from './chain-proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';
import { markStamp } from './workflow-tools.ts';
import type { StampedHash, WorkflowFault } from './workflow-view.ts';

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

/** The error if the record of a workflow does not verify. The page of the workflow shows the fault. */
export const brokenRecord = () => new ServiceError('internal_error', 'The record of this workflow does not verify, so it proves nothing.');
const notProved = () =>
  new ServiceError(
    'internal_error',
    'The stamps that closed this workflow cannot be verified with the configuration of this service, so nothing is proved.',
  );

/**
 * Returns the chain of a workflow and its seals, recomputed and verified for this answer (V9).
 *
 * @throws ServiceError `overloaded` while a long chain is being recomputed; `internal_error` if the record does not verify or its stamps cannot be
 *   verified; `store_unavailable`
 */
export async function proveSealedChain(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
): Promise<{ readonly chain: RecomputedChain; readonly seals: Seals }> {
  const [chain, seals] = await Promise.all([recompute(tools, workflow), readSeals(tools, workflow)]);
  const { root } = workflow;
  const isSum = !root || (root.hash === chain.rootHash && root.outputCount === chain.end.sequenceNumber);
  if (chain.fault || !isSum || closingFaults(workflow, undefined, chain, seals).length > 0) throw brokenRecord();
  if ([seals.root, seals.closingRecord].some((seal) => seal && seal.stamp.verdict.kind !== 'proved')) throw notProved();
  return { chain, seals };
}

async function recompute({ chains, config }: WorkflowTools, { _id: workflowId, briefingHash }: WorkflowRecord): Promise<RecomputedChain> {
  const late = delay(config.STAMP_WAIT_MS, undefined, { ref: false });
  const chain = await Promise.race([chains.recompute({ workflowId, briefingHash }), late]);
  if (chain) return chain;
  throw new ServiceError('overloaded', 'The chain of this workflow is still being recomputed. Ask again.', { retryAfterSeconds: 5 });
}

/**
 * Proves that an output is in the tree of a workflow (RFC 9162 §2.1.3). For a completed workflow the proof leads to the stamped root, for an open
 * workflow to the current root. Chain, root and seals are verified first, and each proof is checked with the public verifier (W21).
 *
 * @throws ServiceError `not_found`; `overloaded` while a long chain is being recomputed; `internal_error` if the record does not verify or its stamps
 *   cannot be verified; `store_unavailable`
 */
export async function proveInclusion(tools: WorkflowTools, workflow: WorkflowRecord, number: number): Promise<InclusionProofShown> {
  const { chain, shown } = await proveSeals(tools, workflow);
  const treeSize = chain.end.sequenceNumber;
  const link = chain.linkAt(number);
  if (!link) throw noOutput();
  const proof = chain.tree.proveInclusion(number - 1, treeSize);
  const head = { treeSize, rootHash: octetsOfSha256(chain.rootHash) };
  if (!verifyInclusion(octetsOfSha256(link.outputHash), proof, head).ok) throw brokenRecord();
  return {
    workflow_id: workflow._id,
    sequence_number: number,
    output_hash: link.outputHash,
    leaf_index: proof.leafIndex,
    tree_size: treeSize,
    root_hash: chain.rootHash,
    inclusion_path: hex(proof.inclusionPath),
    ...shown,
  };
}

/** Proves the first output with this hash. @throws the same errors as `proveInclusion` */
export async function proveInclusionOf(tools: WorkflowTools, workflow: WorkflowRecord, outputHash: string): Promise<InclusionProofShown> {
  const [number] = await tools.store.outputs.findNumbers(workflow._id, outputHash, 1);
  if (number === undefined) throw noOutput();
  const proof = await proveInclusion(tools, workflow, number);
  if (proof.output_hash !== outputHash) throw brokenRecord();
  return proof;
}

/**
 * Proves that a smaller tree is the beginning of a larger one (RFC 9162 §2.1.4). `second` 0 means the current number of outputs.
 *
 * @throws the same errors as `proveInclusion`
 */
export async function proveConsistency(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  sizes: { first: number; second: number },
): Promise<ConsistencyProofShown> {
  const { chain, shown } = await proveSeals(tools, workflow);
  const { first, second = chain.end.sequenceNumber } = { ...sizes, second: sizes.second || undefined };
  if (second > chain.end.sequenceNumber || first > second) {
    throw new ServiceError('not_found', 'This workflow has fewer outputs, or the sizes are in the wrong order.');
  }
  const headAt = (treeSize: number) => ({ treeSize, rootHash: chain.tree.rootAt(treeSize) });
  const [from, to] = [headAt(first), headAt(second)];
  const proof = chain.tree.proveConsistency(first, second);
  if (!verifyConsistency(proof, from, to).ok) throw brokenRecord();
  const isWhole = second === chain.end.sequenceNumber;
  return {
    workflow_id: workflow._id,
    first_size: first,
    first_root_hash: hexOf(from.rootHash),
    second_size: second,
    second_root_hash: hexOf(to.rootHash),
    consistency_path: hex(proof.consistencyPath),
    // The seals cover only the whole tree.
    ...(isWhole ? shown : { root_stamp: null, closing_record: null }),
  };
}

/** The recomputed chain, and the seals as shown in answers. @throws everything that `proveSealedChain` throws */
async function proveSeals(tools: WorkflowTools, workflow: WorkflowRecord) {
  const { chain, seals } = await proveSealedChain(tools, workflow);
  const record = workflow.status === 'completed' && workflow.closingRecord && readClosingRecord(workflow.closingRecord.text);
  return {
    chain,
    shown: {
      root_stamp: seals.root && stampShown(tools, seals.root),
      closing_record: seals.closingRecord && record ? { record, stamp: stampShown(tools, seals.closingRecord) } : null,
    },
  };
}

function stampShown({ addressOf }: WorkflowTools, { stored, stamp }: Seal) {
  if (!stored) throw brokenRecord();
  const { tokenId, stampedAt } = stamp;
  return { stamp_id: tokenId, issued_at: stampedAt, token: stored.proofs[0].token, verify_url: addressOf(verifyPath(tokenId)) };
}

const hex = (nodes: readonly Uint8Array[]): string[] => nodes.map(hexOf);

const noOutput = () => new ServiceError('not_found', 'This workflow has no such output.');
