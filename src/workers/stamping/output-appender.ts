import { setTimeout as delay } from 'node:timers/promises';
import type { OutputRef } from '../../shared/queue/jobs.ts';
import type { ChainOf, OutputRecord } from '../../shared/store/outputs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { WorkerTools } from '../tools.ts';

export interface StampedOutput {
  readonly output: OutputRef;
  readonly stamp: StoredStamp;
}

/** The outputs of one job for one chain. */
export interface Appending {
  readonly jobId: string;
  readonly chain: ChainOf;
  readonly outputs: readonly StampedOutput[];
  /** True if the job has no other outputs of this workflow that must be retried. */
  readonly isLast: boolean;
}

/**
 * Gives stamped outputs their numbers in the chain of their workflow, in the order of acceptance. Returns the outputs that are in the chain, by token
 * id. Outputs that came after the workflow was closed are absent (W4).
 */
type AppendOutputs = (appending: Appending) => Promise<ReadonlyMap<string, OutputRecord>>;

/** How long to wait until the order is read again, while a job of another process blocks this one, in milliseconds. */
const lookMs = 10;

/** The maximum wait for an earlier output, in milliseconds: another worker takes over after a crash within 7 s, and callers wait 10 s. */
const patienceMs = 8_000;

/** The maximum number of jobs whose outputs are inserted together. */
const mostJobsTogether = 64;

interface QueuedAppending extends Appending {
  readonly resolve: (appended: ReadonlyMap<string, OutputRecord>) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Jobs make stamps in parallel, but append outputs in order. In each process, one loop per workflow appends for all its waiting jobs, so that only
 * processes compete for the end of a chain.
 */
export function createOutputAppender({ store, outputOrder, log }: WorkerTools): AppendOutputs {
  const { outputs, workflows } = store;
  const queues = new Map<string, QueuedAppending[]>();

  async function append(chain: ChainOf, batch: readonly StampedOutput[]): Promise<ReadonlyMap<string, OutputRecord>> {
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
    // The workflow is read after the write: if it was redacted meanwhile, the metadata that was just written is removed.
    const hasMetadata = batch.some(({ output }) => output.metadata !== undefined);
    if (hasMetadata && (await workflows.find(chain.workflowId))?.redactedAt) await outputs.forgetMetadata(chain.workflowId);
    return appended;
  }

  async function appendReady(chain: ChainOf, ready: readonly QueuedAppending[]): Promise<void> {
    try {
      const appended = await append(
        chain,
        ready.flatMap((each) => each.outputs),
      );
      for (const { resolve } of ready) resolve(appended);
    } catch (error) {
      for (const { reject } of ready) reject(error);
      return;
    }
    await outputOrder.leave(
      chain.workflowId,
      ready.flatMap(({ jobId, isLast }) => (isLast ? [jobId] : [])),
    );
  }

  async function appendInTurn(chain: ChainOf, queue: QueuedAppending[]): Promise<void> {
    const { workflowId } = chain;
    let blocker = { jobId: '', since: 0 };
    while (queue.length > 0) {
      const { ready, blockedBy } = await outputOrder.readTurn(workflowId, new Set(queue.map(({ jobId }) => jobId)));
      if (ready.length > 0) {
        const turn = ready.slice(0, mostJobsTogether).flatMap((jobId) => queue.filter((each) => each.jobId === jobId));
        queue.splice(0, queue.length, ...queue.filter((each) => !turn.includes(each)));
        await appendReady(chain, turn);
      } else if (blockedBy !== undefined) {
        if (blockedBy !== blocker.jobId) blocker = { jobId: blockedBy, since: performance.now() };
        if (performance.now() - blocker.since > patienceMs) {
          log.warn({ workflowId, job: blockedBy }, 'an output took too long; later outputs go first');
          await outputOrder.leave(workflowId, [blockedBy]);
        } else await delay(lookMs);
      }
    }
    queues.delete(workflowId);
  }

  async function work(chain: ChainOf, queue: QueuedAppending[]): Promise<void> {
    try {
      await appendInTurn(chain, queue);
    } catch (error) {
      queues.delete(chain.workflowId);
      for (const { reject } of queue) reject(error);
    }
  }

  return async (appending) => {
    const { chain, jobId, isLast } = appending;
    if (appending.outputs.length === 0) {
      if (isLast) await outputOrder.leave(chain.workflowId, [jobId]);
      return new Map();
    }
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, OutputRecord>>();
    const waiting: QueuedAppending = { ...appending, resolve, reject };
    const queue = queues.get(chain.workflowId);
    if (queue) queue.push(waiting);
    else {
      const started = [waiting];
      queues.set(chain.workflowId, started);
      void work(chain, started);
    }
    return promise;
  };
}
