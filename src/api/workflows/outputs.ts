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
import { ServiceError } from '../../shared/domain/service-error.ts';
import { idInSeries, needsQualifiedProvider, sha256Imprint } from '../../shared/domain/stamp.ts';
import type { OutputPlace, StampItem } from '../../shared/queue/jobs.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import {
  type Answer,
  type Answers,
  answerAll,
  encryptForStamp,
  identify,
  type Outcome,
  type PassLimit,
  stampFailed,
} from '../stamps/index.ts';
import { checkState, checkTier, refusalError, tierUnavailable } from './access.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** A request for one output of a workflow or many. */
interface StampOutputsCommand {
  readonly workflow: WorkflowRecord;
  /** The outputs in their order, each with its index in the request. In a bulk request, the ids of the stamps are derived from its id and these indexes. */
  readonly entries: readonly { readonly index: number; readonly request: WorkflowStampRequest }[];
  /** `workflow_stamps` for a bulk request. Each kind of request has its own idempotency keys. */
  readonly operation: 'workflow_stamp' | 'workflow_stamps';
  /** The product of the caller, if it asks for a webhook. */
  readonly product?: string | undefined;
  /** The owner of a share of the queue: a product, or an address. */
  readonly callerId: string;
  readonly requestId: string;
  /** The time that the request has spent before; it counts as waiting. */
  readonly spentMs?: number;
  readonly idempotencyKey: string | undefined;
  readonly passLimit: PassLimit;
  /** For a caller who does not wait: see `SubmitOptions`. */
  readonly patienceMs?: number | undefined;
}

type OutputAnswer = Answer<WorkflowStampResponse, AcceptedOutput>;

/**
 * Stamps outputs of a workflow and gives them numbers in the given order (L4). After Redis has acknowledged a job, workers finish it even if this
 * process dies. Each answer succeeds or fails on its own: it rejects with ServiceError `conflict`, `tier_unavailable`, `provider_failed`,
 * `internal_error`, `queue_unavailable`, or `stamp_pending` if the output was accepted, or perhaps was, and is not finished in time.
 *
 * @throws ServiceError `conflict`, `gone`, `tier_unavailable`, `rate_limited`, `overloaded`, `queue_unavailable`, `store_unavailable`,
 *   `idempotency_key_reused`: nothing was accepted
 */
export function stampOutputs(tools: WorkflowTools, command: StampOutputsCommand): Promise<Answers<OutputAnswer>> {
  const { workflow, callerId, spentMs, patienceMs } = command;
  return answerAll(tools, {
    callerId,
    spentMs,
    patienceMs,
    begin: (begunAt) => begin(tools, command, begunAt),
    answerOf: ({ tokenId }, outcome) => outputAnswerOf(tools, workflow._id, tokenId, outcome, patienceMs !== undefined),
  });
}

async function itemOf(
  { store: { keys } }: WorkflowTools,
  command: StampOutputsCommand,
  request: WorkflowStampRequest,
  begunAt: number,
  tokenId: string,
): Promise<StampItem> {
  const { workflow, product, requestId } = command;
  const { wordsKey: key } = workflow;
  const { output_metadata: metadata, callback_url: url } = request;
  const callback = url && product && (await encryptForStamp(keys, tokenId, { url, sealed_storage_url: null, product } satisfies Callback));
  return {
    tokenId,
    imprint: sha256Imprint(request.output_hash),
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
      type: request.output_type,
      // Metadata that comes after the redaction is not stored: it might contain the e-mail address again.
      ...(metadata && key && { metadata: encryptMetadata({ key, nonce: randomBytes(nonceBytes) }, tokenId, JSON.stringify(metadata)) }),
    },
  };
}

const madeAt = (
  { addressOf }: WorkflowTools,
  workflowId: string,
  tokenId: string,
  { outputId, sequenceNumber }: OutputPlace,
): OutputAnswer => ({
  made: workflowStampResponseOf({ workflowId, tokenId, outputId, sequenceNumber }, addressOf),
});

function outputAnswerOf(tools: WorkflowTools, workflowId: string, tokenId: string, outcome: Outcome, mayBeAccepted: boolean): OutputAnswer {
  const { addressOf } = tools;
  if (outcome.state === 'failed') throw failureOf(tokenId, outcome);
  if (outcome.state === 'stamped' && outcome.reply.output) return madeAt(tools, workflowId, tokenId, outcome.reply.output);
  const addresses = { verify_url: addressOf(verifyPath(tokenId)), status_url: addressOf(workflowStatePath(workflowId)) };
  if (outcome.state === 'accepted' && mayBeAccepted) return { accepted: { token_id: tokenId, status: 'accepted', ...addresses } };
  const detail =
    outcome.state === 'accepted'
      ? 'The output was accepted and is not numbered yet. Its stamp will be readable at verify_url.'
      : 'The queue did not confirm the output. If it has the output, its stamp will be readable at verify_url.';
  throw new ServiceError('stamp_pending', detail, { retryAfterSeconds: 5, members: { token_id: tokenId, ...addresses } });
}

/** Checks whether `count` outputs can be accepted now. @throws ServiceError if not */
async function checkReady(tools: WorkflowTools, workflow: WorkflowRecord, callerId: string, count: number): Promise<void> {
  const { submission, writes, clock } = tools;
  checkState('stamp', workflow, clock());
  await checkTier(workflow, tools);
  submission.checkCapacity(callerId, count);
  writes.checkStore();
}

/** Identifies the request, finds the outputs that an earlier one with the same key has made, and makes the items of the others. All needs the store. */
async function begin(tools: WorkflowTools, command: StampOutputsCommand, begunAt: number) {
  const { workflow, entries, operation, callerId, idempotencyKey: key, passLimit } = command;
  const { resourceId, isRepeated } = await identify(tools, {
    caller: `workflow:${workflow._id}`,
    key,
    operation,
    content: entries,
    passLimit,
  });
  const tokenIds = entries.map(({ index }) => (operation === 'workflow_stamps' ? idInSeries(resourceId, index) : resourceId));
  const existing = new Map((isRepeated ? await tools.store.outputs.findByTokens(tokenIds) : []).map((output) => [output.tokenId, output]));
  if (existing.size < entries.length || entries.length === 0) await checkReady(tools, workflow, callerId, entries.length - existing.size);
  const places = await Promise.all(
    entries.map(async ({ request }, place) => {
      const tokenId = tokenIds[place]!;
      const output = existing.get(tokenId);
      if (output) return { known: Promise.resolve(madeAt(tools, workflow._id, tokenId, output)) };
      return { item: await itemOf(tools, command, request, begunAt, tokenId) };
    }),
  );
  return { places, isReplayed: isRepeated };
}

/** The error for an output that will not be made. */
function failureOf(tokenId: string, { code }: Extract<Outcome, { state: 'failed' }>): ServiceError {
  if (code === 'workflow_closed') return refusalError({ kind: 'conflict', reason: 'workflow_closed' });
  if (code === 'tier_unavailable') return tierUnavailable();
  if (code === 'stamp_failed') return stampFailed(tokenId);
  return new ServiceError('provider_failed', 'No provider could make the stamp.');
}
