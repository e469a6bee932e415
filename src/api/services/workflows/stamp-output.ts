import { randomUUIDv7 } from 'node:crypto';
import type { WorkflowStampRequest, WorkflowStampResponse } from '../../../shared/contract/workflow.ts';
import { outputPath, verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { sha256Imprint } from '../../../shared/domain/stamp.ts';
import { needsQualifiedProvider } from '../../../shared/domain/tiers.ts';
import type { StampItem, StampReply } from '../../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OutputStore } from '../../../shared/store/outputs.ts';
import type { WorkflowRecord } from '../../../shared/store/workflows.ts';
import { acceptAndWait } from '../accept-and-wait.ts';
import type { Idempotency } from '../idempotency.ts';
import type { ReplyWaiter } from '../reply-waiter.ts';
import { checkState, refusalError } from './access.ts';

export interface StampOutputDeps {
  readonly queue: StampQueue;
  readonly waiter: ReplyWaiter;
  readonly outputs: OutputStore;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  /** Makes an address of ours absolute when it is to be (W13). */
  readonly addressOf: (path: string) => string;
}

export interface StampOutputCommand {
  readonly workflow: WorkflowRecord;
  readonly request: WorkflowStampRequest;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
}

/** Where an output stands: its own id, and its number. */
interface Place {
  readonly outputId: string;
  readonly sequenceNumber: number;
}

/**
 * Stamps an output and has it numbered: what Redis has acknowledged is worked off by the workers, whatever becomes of this process.
 *
 * @throws ServiceError `conflict`, `gone` (W2, W4, W5), `provider_failed`, `overloaded`, `queue_unavailable`, `store_unavailable`,
 * `idempotency_key_reused`; `stamp_pending` when it was accepted and is not finished in time (E11)
 */
export function createOutputStamping(deps: StampOutputDeps) {
  const { queue, waiter, outputs, idempotency, clock, addressOf } = deps;

  async function identify({ workflow, request, idempotencyKey: key }: StampOutputCommand) {
    const freshId = randomUUIDv7();
    if (key === undefined) return { tokenId: freshId, existing: undefined };
    const caller = `workflow:${workflow._id}`;
    const { resourceId: tokenId, isRepeated } = await idempotency.bind(
      { caller, key, operation: 'workflow_stamp', content: request },
      freshId,
    );
    const [existing] = isRepeated ? await outputs.findByTokens([tokenId]) : [];
    return { tokenId, existing };
  }

  function itemOf({ workflow, request, requestId }: StampOutputCommand, tokenId: string): StampItem {
    return {
      tokenId,
      imprint: sha256Imprint(request.output_hash),
      tier: 'basic',
      caller: { kind: 'workflow' },
      acceptedAt: clock(),
      requestId,
      requiresQualified: needsQualifiedProvider(workflow.tier),
      output: {
        workflowId: workflow._id,
        briefingHash: workflow.briefingHash,
        outputId: randomUUIDv7(),
        type: request.output_type,
        // What was said after the redaction is not kept: the workflow is to forget, not to learn (W10).
        ...(request.output_metadata && !workflow.redactedAt && { metadata: JSON.stringify(request.output_metadata) }),
      },
    };
  }

  function placeOf(tokenId: string, reply: StampReply | undefined): Place {
    if (reply?.outcome === 'failed') {
      if (reply.code === 'workflow_closed') throw refusalError({ kind: 'conflict', reason: 'workflow_closed' });
      throw new ServiceError('provider_failed', 'No timestamp provider could make the stamp.');
    }
    if (reply?.output) return reply.output;
    throw new ServiceError('stamp_pending', 'The output was accepted and is not numbered yet; its stamp will be readable at verify_url.', {
      retryAfterSeconds: 5,
      members: { token_id: tokenId, verify_url: addressOf(verifyPath(tokenId)) },
    });
  }

  return async (command: StampOutputCommand): Promise<{ answer: WorkflowStampResponse; isReplayed: boolean }> => {
    const { workflow } = command;
    const { tokenId, existing } = await identify(command);
    if (!existing) {
      checkState('stamp', workflow, clock());
      queue.checkCapacity();
    }
    const { outputId, sequenceNumber } = existing ?? placeOf(tokenId, await acceptAndWait({ queue, waiter }, itemOf(command, tokenId)));
    return {
      answer: {
        output_id: outputId,
        sequence_number: sequenceNumber,
        stamp_token_id: tokenId,
        verify_url: addressOf(outputPath(workflow._id, sequenceNumber)),
        workflow_anchor_url: addressOf(workflowPath(workflow._id)),
      },
      isReplayed: existing !== undefined,
    };
  };
}
