import { randomUUIDv7 } from 'node:crypto';
import { createTreeHeadBuilder } from '../../shared/domain/merkle.ts';
import { type ChainEnd, chainStart, checkLink } from '../../shared/domain/output-chain.ts';
import { bytesOfSha256 } from '../../shared/domain/sha256-hex.ts';
import { sha256Imprint } from '../../shared/domain/stamp.ts';
import { needsQualifiedProvider } from '../../shared/domain/tiers.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore } from '../../shared/store/counters.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { WorkflowRecord, WorkflowStore } from '../../shared/store/workflows.ts';
import { ProviderError } from '../providers/provider.ts';
import type { MakeStamps } from '../stamping/stamp-maker.ts';

export interface WorkflowCompletionDeps {
  readonly workflows: WorkflowStore;
  readonly outputs: OutputStore;
  readonly counters: CounterStore;
  readonly makeStamps: MakeStamps;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Completes a workflow in steps that each may be repeated: it is closed under the id that the root's stamp will have, the chain
 * gets its closing record, the root is computed and stored, stamped, and the workflow is completed (W9). Wherever a run ends, the
 * next one goes on.
 *
 * @throws ProviderError no provider stamped the root; ServiceError `store_unavailable`: the job is tried again.
 */
export function createWorkflowCompletionProcessor(deps: WorkflowCompletionDeps): (job: JobPayload<'workflow-completion'>) => Promise<void> {
  const { workflows, outputs, counters, makeStamps, clock, log } = deps;

  /** Reads the outputs as a stream; a chain that does not recompute is not put under a root. */
  async function computeRoot({ _id: workflowId, briefingHash }: WorkflowRecord): Promise<{ hash: string; outputCount: number }> {
    const tree = createTreeHeadBuilder();
    let end: ChainEnd = chainStart(briefingHash);
    for await (const link of outputs.scanLinks(workflowId)) {
      const fault = checkLink(end, link);
      if (fault) throw new Error(`the chain of workflow ${workflowId} breaks at ${fault.sequenceNumber}: ${fault.fault}`);
      tree.append(bytesOfSha256(link.outputHash));
      end = link;
    }
    const { treeSize, rootHash } = tree.head();
    return { hash: rootHash.toString('hex'), outputCount: treeSize };
  }

  async function closeChain(workflow: WorkflowRecord, rootTokenId: string): Promise<{ hash: string; outputCount: number }> {
    const { _id: workflowId, briefingHash } = workflow;
    const closing = await outputs.close({ workflowId, briefingHash }, rootTokenId);
    const root = await computeRoot(workflow);
    if (root.outputCount !== closing.sequenceNumber - 1) {
      throw new Error(`the chain of workflow ${workflowId} has ${root.outputCount} outputs, not ${closing.sequenceNumber - 1}`);
    }
    await workflows.setRoot(workflowId, root);
    return root;
  }

  return async ({ workflowId, acceptedAt, requestId }) => {
    const rootTokenId = randomUUIDv7();
    const workflow = await workflows.beginClosing(workflowId, rootTokenId, new Date(acceptedAt));
    if (!workflow?.closing || workflow.status === 'completed') return;
    const root = workflow.root ?? (await closeChain(workflow, workflow.closing.rootTokenId));

    const rootStamp = {
      tokenId: workflow.closing.rootTokenId,
      imprint: sha256Imprint(root.hash),
      tier: 'basic',
      caller: { kind: 'workflow' },
      acceptedAt,
      requestId,
      requiresQualified: needsQualifiedProvider(workflow.tier),
    } as const;
    // Always as a retry: an earlier job may have stamped the root already.
    const { failed, refused } = await makeStamps([rootStamp], { isRetry: true });
    if (refused.length > 0) {
      // The tier was served when the workflow was closed, and is not any more: trying again needs another configuration (W19).
      await workflows.countRootFailure(workflowId);
      return;
    }
    if (failed.length > 0) {
      await workflows.countRootFailure(workflowId);
      throw new ProviderError('the root could not be stamped');
    }
    if (!(await workflows.complete(workflowId, new Date(clock())))) return;
    log.info({ requestId, workflowId, outputs: root.outputCount }, 'a workflow was completed');
    try {
      await counters.count({ workflowsCompleted: 1 }, clock());
    } catch (error) {
      log.error({ err: error }, 'a workflow was completed but not counted');
    }
  };
}
