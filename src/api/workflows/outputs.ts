import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Callback } from '../../shared/contract/stamp.ts';
import {
  type AcceptedOutput,
  type WorkflowStampRequest,
  type WorkflowStampResponse,
  workflowStampResponseOf,
} from '../../shared/contract/workflow.ts';
import { verifyPath, workflowStatePath } from '../../shared/domain/addresses.ts';
import { encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import { needsQualifiedProvider, sha256Imprint } from '../../shared/domain/stamp.ts';
import type { OutputPlace, StampItem } from '../../shared/queue/jobs.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { type Answers, encryptForStamp, failureOf, fulfilRequest, type StampingRequest } from '../stamps/index.ts';
import { checkState, checkTier, refusalError, tierUnavailable } from './access.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** A request for one output of a workflow or many. */
interface StampOutputsCommand extends StampingRequest<WorkflowStampRequest> {
  readonly workflow: WorkflowRecord;
  /** The product of the caller, if it asks for a webhook. */
  readonly product?: string | undefined;
}

/**
 * Stamps outputs of a workflow and gives them numbers in the given order (L4). After Redis has acknowledged a job, workers finish it even if this
 * process dies. Each answer succeeds or fails on its own: it rejects with ServiceError `conflict`, `tier_unavailable`, `provider_failed`,
 * `internal_error`, `queue_unavailable`, or `stamp_pending` if the output was accepted, or perhaps was, and is not finished in time.
 *
 * @throws ServiceError `conflict`, `gone`, `tier_unavailable`, `rate_limited`, `overloaded`, `queue_unavailable`, `store_unavailable`,
 *   `idempotency_key_reused`: nothing was accepted
 */
export function stampOutputs(tools: WorkflowTools, command: StampOutputsCommand): Promise<Answers<WorkflowStampResponse, AcceptedOutput>> {
  const { workflow, entries, isBulk, callerId } = command;
  const { store, submission, writes, clock, addressOf } = tools;
  const madeAt = (tokenId: string, stampedAt: string, { outputId, sequenceNumber, chainHash }: OutputPlace) =>
    workflowStampResponseOf({ workflowId: workflow._id, tokenId, stampedAt, outputId, sequenceNumber, chainHash }, addressOf);
  return fulfilRequest(tools, command, {
    identity: {
      caller: `workflow:${workflow._id}`,
      operation: isBulk ? 'workflow_stamps' : 'workflow_stamp',
      content: entries,
    },
    findMade: async (named) => {
      const made = await store.outputs.findByTokens(named.map(({ tokenId }) => tokenId));
      return new Map(made.map((output) => [output.tokenId, Promise.resolve(madeAt(output.tokenId, output.stampedAt, output))]));
    },
    checkReady: async (count) => {
      checkState('stamp', workflow, clock());
      await checkTier(tools, workflow);
      submission.checkCapacity(callerId, count);
      writes.checkStore();
    },
    itemOf: ({ order, tokenId }, begunAt) => itemOf(tools, command, order, tokenId, begunAt),
    // A reply about an output always has its number.
    madeOf: ({ tokenId }, reply) => madeAt(tokenId, reply.issuedAt, reply.output!),
    failureOf: (tokenId, failed) => {
      if (failed.code === 'workflow_closed') return refusalError('conflict', 'workflow_closed');
      return failed.code === 'tier_unavailable' ? tierUnavailable() : failureOf(tokenId, failed);
    },
    addressesOf: ({ tokenId }) => ({
      verify_url: addressOf(verifyPath(tokenId)),
      status_url: addressOf(workflowStatePath(workflow._id)),
    }),
    pending: {
      accepted: 'The output was accepted and is not numbered yet. Its stamp will be readable at verify_url.',
      unconfirmed: 'The queue did not confirm the output. If it has the output, its stamp will be readable at verify_url.',
    },
  });
}

async function itemOf(
  { store: { keys } }: WorkflowTools,
  { workflow, product, requestId }: StampOutputsCommand,
  { output_hash, output_type, output_metadata: metadata, callback_url: url }: WorkflowStampRequest,
  tokenId: string,
  begunAt: number,
): Promise<StampItem> {
  const { wordsKey: key } = workflow;
  const callback = url && product && (await encryptForStamp(keys, tokenId, { url, sealed_storage_url: null, product } satisfies Callback));
  return {
    tokenId,
    imprint: sha256Imprint(output_hash),
    tier: 'basic',
    caller: { kind: 'workflow' },
    acceptedAt: begunAt,
    requestId,
    requiresQualified: needsQualifiedProvider(workflow.tier),
    ...(callback && { callback }),
    output: {
      workflowId: workflow._id,
      briefingHash: workflow.briefingHash,
      outputId: randomUUIDv7(),
      type: output_type,
      // Metadata that comes after the redaction is not stored: it might contain the e-mail address again.
      ...(metadata && key && { metadata: encryptMetadata({ key, nonce: randomBytes(nonceBytes) }, tokenId, JSON.stringify(metadata)) }),
    },
  };
}
