import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { RecomputedChain } from './chain-proof.ts';
import { closingFaults, readSeals, type Seals } from './closing-proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';

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
