import type { OutputRef } from '../../shared/queue/stamp-job.ts';
import { type Batcher, createBatcher } from '../../shared/runtime/batcher.ts';
import type { OutputRecord, OutputStore } from '../../shared/store/outputs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';

/** Gives a stamped output its number in the chain of its workflow; undefined when the workflow was closed before (W4). */
export type AppendOutput = (output: OutputRef, stamp: StoredStamp) => Promise<OutputRecord | undefined>;

interface Waiting {
  readonly output: OutputRef;
  readonly stamp: StoredStamp;
  appended?: OutputRecord | undefined;
}

/** The most outputs that are appended in one insert. */
const maxOutputs = 256;

/**
 * Outputs of a workflow that wait in this process are appended together. So only processes compete for the end of a chain, not the jobs
 * of one process.
 */
export function createOutputAppender({ outputs, workflows }: { outputs: OutputStore; workflows: WorkflowStore }): AppendOutput {
  const queues = new Map<string, { readonly batcher: Batcher<Waiting>; waiting: number }>();

  async function flush(chain: { workflowId: string; briefingHash: string }, batch: Waiting[]): Promise<void> {
    const appended = await outputs.append(
      chain,
      batch.map(({ output, stamp }) => ({
        outputId: output.outputId,
        tokenId: stamp.tokenId,
        hash: stamp.imprint.digest,
        type: output.type,
        metadata: output.metadata,
        stampedAt: stamp.proofs[0].issuedAt,
        provider: stamp.proofs[0].provider,
        isQualified: stamp.proofs[0].isQualified,
      })),
    );
    // Read after the write: if the workflow was redacted meanwhile, this sees it and removes the metadata (W10).
    const hasMetadata = batch.some(({ output }) => output.metadata !== undefined);
    if (hasMetadata && (await workflows.find(chain.workflowId))?.redactedAt) await outputs.forgetMetadata(chain.workflowId);
    for (const waiting of batch) waiting.appended = appended.get(waiting.stamp.tokenId);
  }

  return async (output, stamp) => {
    const { workflowId, briefingHash } = output;
    const queue = queues.get(workflowId) ?? {
      batcher: createBatcher<Waiting>({ maxItems: maxOutputs, flush: (batch) => flush({ workflowId, briefingHash }, batch) }),
      waiting: 0,
    };
    queues.set(workflowId, queue);
    queue.waiting += 1;
    const waiting: Waiting = { output, stamp };
    try {
      await queue.batcher.add(waiting);
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(workflowId);
    }
    return waiting.appended;
  };
}
