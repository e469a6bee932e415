import type { ConsistencyProofShown, InclusionProofShown } from '../../shared/contract/workflow-proof.ts';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { verifyConsistency, verifyInclusion } from '../../shared/domain/proofs.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { readClosingRecord } from '../../shared/proof/closing-record.js';
import { hexOf, octetsOfSha256 } from '../../shared/proof/octets.js';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { brokenRecord, proveSealedChain, type Seal } from './proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Proves that an output is in the tree of a workflow (RFC 9162 §2.1.3). For a completed workflow the proof leads to the stamped root, for an open
 * workflow to the current root. Chain, root and seals are verified first, and each proof is checked with the public verifier (W21).
 *
 * @throws ServiceError `not_found`, and everything that `proveSealedChain` throws
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
    inclusion_path: proof.inclusionPath.map(hexOf),
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
  const whole = chain.end.sequenceNumber;
  const { first } = sizes;
  const second = sizes.second || whole;
  if (second > whole || first > second) {
    throw new ServiceError('not_found', 'This workflow has fewer outputs, or the sizes are in the wrong order.');
  }
  const headAt = (treeSize: number) => ({ treeSize, rootHash: chain.tree.rootAt(treeSize) });
  const [from, to] = [headAt(first), headAt(second)];
  const proof = chain.tree.proveConsistency(first, second);
  if (!verifyConsistency(proof, from, to).ok) throw brokenRecord();
  return {
    workflow_id: workflow._id,
    first_size: first,
    first_root_hash: hexOf(from.rootHash),
    second_size: second,
    second_root_hash: hexOf(to.rootHash),
    consistency_path: proof.consistencyPath.map(hexOf),
    // The seals cover only the whole tree.
    ...(second === whole ? shown : { root_stamp: null, closing_record: null }),
  };
}

/** The recomputed chain, and the seals as shown in answers. @throws everything that `proveSealedChain` throws */
async function proveSeals(tools: WorkflowTools, workflow: WorkflowRecord) {
  const { chain, seals } = await proveSealedChain(tools, workflow);
  const record = seals.closingRecord && workflow.closingRecord && readClosingRecord(workflow.closingRecord.text);
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

const noOutput = () => new ServiceError('not_found', 'This workflow has no such output.');
