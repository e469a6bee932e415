import { createTreeHeadBuilder } from '../../shared/domain/merkle.ts';
import { type ChainEnd, chainStart, checkLink } from '../../shared/domain/output-chain.ts';
import { bytesOfSha256 } from '../../shared/domain/sha256-hex.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { ChainSum, WorkflowRecord } from '../../shared/store/workflows.ts';

export type ClosedChain = Required<ChainSum>;

/** Reads the outputs as a stream; a chain that does not recompute is not put under a root. */
async function computeRoot(outputs: OutputStore, { _id: workflowId, briefingHash }: WorkflowRecord): Promise<ClosedChain> {
  const tree = createTreeHeadBuilder();
  let end: ChainEnd = chainStart(briefingHash);
  for await (const link of outputs.scanLinks(workflowId)) {
    const fault = checkLink(end, link);
    if (fault) throw new Error(`the chain of workflow ${workflowId} breaks at ${fault.sequenceNumber}: ${fault.fault}`);
    tree.append(bytesOfSha256(link.outputHash));
    end = link;
  }
  const { treeSize, rootHash } = tree.head();
  return { hash: rootHash.toString('hex'), outputCount: treeSize, chainHash: end.chainHash };
}

/**
 * Ends a chain, so that no output can join it, and computes what it comes to. May be repeated.
 *
 * @throws Error a chain that does not recompute; ServiceError `store_unavailable`
 */
export async function closeChain(outputs: OutputStore, workflow: WorkflowRecord, rootTokenId: string): Promise<ClosedChain> {
  const { _id: workflowId, briefingHash } = workflow;
  const closing = await outputs.close({ workflowId, briefingHash }, rootTokenId);
  const root = await computeRoot(outputs, workflow);
  if (root.outputCount !== closing.sequenceNumber - 1) {
    throw new Error(`the chain of workflow ${workflowId} has ${root.outputCount} outputs, not ${closing.sequenceNumber - 1}`);
  }
  return root;
}
