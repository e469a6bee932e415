import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Callback } from '../../shared/contract/webhook.ts';
import {
  type AcceptedOutput,
  type WorkflowStampRequest,
  type WorkflowStampResponse,
  workflowStampResponseOf,
} from '../../shared/contract/workflow.ts';
import { verifyPath, workflowStatePath } from '../../shared/domain/addresses.ts';
import { encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { sha256Imprint } from '../../shared/domain/stamp.ts';
import { idInSeries } from '../../shared/domain/stamp-id.ts';
import { needsQualifiedProvider } from '../../shared/domain/tiers.ts';
import type { Acceptance } from '../../shared/queue/open-queue.ts';
import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import {
  type AcceptedAnswer,
  acceptAllAndWait,
  acceptAllPromised,
  acceptAndWait,
  acceptPromised,
  asAcceptance,
  asOutcome,
  type BulkOutcomes,
  type Deadline,
  type Heard,
  identifyBulk,
  type Outcome,
  type PassLimit,
  passLimitOnce,
  stampFailed,
  startDeadline,
  storeBefore,
} from '../stamps/index.ts';
import { checkState, checkTier, tierUnavailable } from './access.ts';
import { refusalError } from './refusals.ts';
import type { WorkflowTools } from './workflow-tools.ts';

export interface StampOutputCommand {
  readonly workflow: WorkflowRecord;
  readonly request: WorkflowStampRequest;
  /** The product of the caller, if it asks for a webhook. */
  readonly product?: string | undefined;
  /** The owner of a share of the queue: a product, or an address. */
  readonly callerId: string;
  readonly requestId: string;
  /** The time that the request has spent before; it counts as waiting. */
  readonly spentMs?: number;
  readonly idempotencyKey: string | undefined;
  readonly passLimit: PassLimit;
}

/** Many outputs, each with its index in the request. */
export interface StampOutputsCommand extends Omit<StampOutputCommand, 'request'> {
  readonly entries: readonly { readonly index: number; readonly request: WorkflowStampRequest }[];
}

interface NumberedOutput {
  readonly answer: WorkflowStampResponse;
  readonly isReplayed: boolean;
}

/** The id and the number of an output. */
interface Place {
  readonly outputId: string;
  readonly sequenceNumber: number;
}

/**
 * Stamps an output and gives it a number, or many outputs in the given order (L4). After Redis has acknowledged the job, workers finish it even if
 * this process dies. If an error is known before anything is accepted, it is thrown; later errors are the outcomes of single outputs in a bulk
 * request.
 *
 * @throws ServiceError `conflict`, `gone`, `tier_unavailable`, `provider_failed`, `overloaded`, `queue_unavailable`, `store_unavailable`,
 *   `idempotency_key_reused`; `stamp_pending` if the output was accepted, or perhaps was, and is not finished in time
 */
export function createOutputStamping(tools: WorkflowTools) {
  const { queue, writes, waiter, outputs, idempotency, clock, waitMs, encryptedOf, servesQualified, addressOf } = tools;

  async function identify({ workflow, request, idempotencyKey: key, passLimit }: StampOutputCommand) {
    const freshId = randomUUIDv7();
    const keyed =
      key === undefined ? undefined : { caller: `workflow:${workflow._id}`, key, operation: 'workflow_stamp', content: request };
    await passLimitOnce(idempotency, passLimit, keyed);
    if (keyed === undefined) return { tokenId: freshId, isRepeated: false, existing: undefined };
    const { resourceId: tokenId, isRepeated } = await idempotency.bind(keyed, freshId);
    const [existing] = isRepeated ? await outputs.findByTokens([tokenId]) : [];
    return { tokenId, isRepeated, existing };
  }

  async function itemOf(command: Omit<StampOutputCommand, 'passLimit'>, begunAt: number, tokenId: string): Promise<StampItem> {
    const { workflow, request, product, requestId } = command;
    const { wordsKey: key } = workflow;
    const { output_metadata: metadata, callback_url: url } = request;
    const callback = url && product && (await encryptedOf(tokenId, { url, sealed_storage_url: null, product } satisfies Callback));
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

  function placeOf(workflowId: string, tokenId: string, { reply, isAccepted }: Heard): Place {
    if (reply?.outcome === 'failed') {
      if (reply.code === 'workflow_closed') throw refusalError({ kind: 'conflict', reason: 'workflow_closed' });
      if (reply.code === 'tier_unavailable') throw tierUnavailable();
      if (reply.code === 'stamp_failed') throw stampFailed(tokenId);
      throw new ServiceError('provider_failed', 'No provider could make the stamp.');
    }
    if (reply?.output) return reply.output;
    throw pendingError(workflowId, tokenId, isAccepted);
  }

  function pendingError(workflowId: string, tokenId: string, isAccepted: boolean): ServiceError {
    const detail = isAccepted
      ? 'The output was accepted and is not numbered yet. Its stamp will be readable at verify_url.'
      : 'The queue did not confirm the output. If it has the output, its stamp will be readable at verify_url.';
    return new ServiceError('stamp_pending', detail, {
      retryAfterSeconds: 5,
      members: { token_id: tokenId, verify_url: addressOf(verifyPath(tokenId)), status_url: addressOf(workflowStatePath(workflowId)) },
    });
  }

  /** The answer before the stamp is made. @throws ServiceError `stamp_pending` if it is not known whether the queue has the item */
  function acceptedOf(workflowId: string, tokenId: string, acceptance: Acceptance): AcceptedOutput {
    if (acceptance === 'unanswered') throw pendingError(workflowId, tokenId, false);
    const status_url = addressOf(workflowStatePath(workflowId));
    return { token_id: tokenId, status: 'accepted', verify_url: addressOf(verifyPath(tokenId)), status_url };
  }

  /** Checks whether `count` outputs can be accepted now. @throws ServiceError if not */
  function checkReady(workflow: WorkflowRecord, callerId: string, count: number): void {
    checkState('stamp', workflow, clock());
    checkTier(workflow, servesQualified);
    queue.checkCapacity(callerId, count);
    writes.checkStore();
  }

  const answerOf = (workflowId: string, tokenId: string, place: Place): WorkflowStampResponse =>
    workflowStampResponseOf({ workflowId, tokenId, ...place }, addressOf);

  /** Finds the output if an earlier request has made it, otherwise makes its item. All this needs the store. */
  async function begin(command: StampOutputCommand, begunAt: number) {
    const identified = await identify(command);
    const { tokenId, existing } = identified;
    if (existing) return { ...identified, existing, item: undefined };
    checkReady(command.workflow, command.callerId, 1);
    return { ...identified, existing: undefined, item: await itemOf(command, begunAt, tokenId) };
  }

  const endsOf = ({ callerId }: Pick<StampOutputCommand, 'callerId'>, deadline: Deadline) => ({ queue, waiter, callerId, deadline });

  async function stampOutput(command: StampOutputCommand): Promise<NumberedOutput> {
    const { workflow } = command;
    const deadline = startDeadline({ clock, waitMs, spentMs: command.spentMs });
    const { tokenId, isRepeated, existing, item } = await storeBefore(deadline, () => begin(command, deadline.begunAt));
    const place = item ? placeOf(workflow._id, tokenId, await acceptAndWait(endsOf(command, deadline), item)) : existing;
    return { answer: answerOf(workflow._id, tokenId, place), isReplayed: isRepeated };
  }

  /** Waits until the output is accepted, and then at most `patienceMs` for its number. If the output has its number by then, it is the answer. */
  async function acceptOutput(command: StampOutputCommand, patienceMs: number): Promise<NumberedOutput | AcceptedAnswer<AcceptedOutput>> {
    const { workflow } = command;
    const deadline = startDeadline({ clock, waitMs, spentMs: command.spentMs });
    const { tokenId, isRepeated, existing, item } = await storeBefore(deadline, () => begin(command, deadline.begunAt));
    if (!item) return { answer: answerOf(workflow._id, tokenId, existing), isReplayed: isRepeated };
    const { acceptance, reply } = await acceptPromised(endsOf(command, deadline), item, patienceMs);
    if (reply)
      return {
        answer: answerOf(workflow._id, tokenId, placeOf(workflow._id, tokenId, { reply, isAccepted: true })),
        isReplayed: isRepeated,
      };
    return { accepted: acceptedOf(workflow._id, tokenId, acceptance), isReplayed: isRepeated };
  }

  /** Finds out which outputs a request still needs, and which exist already. */
  async function beginMany({ entries, passLimit, ...command }: StampOutputsCommand, begunAt: number) {
    const { workflow, callerId, idempotencyKey: key } = command;
    const keyed =
      key === undefined ? undefined : { caller: `workflow:${workflow._id}`, key, operation: 'workflow_stamps', content: entries };
    const { bulkId, isRepeated } = await identifyBulk(idempotency, keyed, passLimit);
    const tokenIds = entries.map(({ index }) => idInSeries(bulkId, index));
    const existing = new Map((isRepeated ? await outputs.findByTokens(tokenIds) : []).map((output) => [output.tokenId, output]));
    const fresh = entries.flatMap(({ request }, place) => (existing.has(tokenIds[place]!) ? [] : [{ request, tokenId: tokenIds[place]! }]));
    if (fresh.length > 0 || entries.length === 0) checkReady(workflow, callerId, fresh.length);
    const items = await Promise.all(fresh.map(({ request, tokenId }) => itemOf({ ...command, request }, begunAt, tokenId)));
    return { workflowId: workflow._id, tokenIds, existing, items, isReplayed: isRepeated };
  }

  /** Puts the outcomes of new and existing outputs into the order of the request. */
  function inOrder<Told>(
    { workflowId, tokenIds, existing, items, isReplayed }: Awaited<ReturnType<typeof beginMany>>,
    told: readonly Promise<Told>[],
  ): BulkOutcomes<WorkflowStampResponse, Told | Outcome<WorkflowStampResponse>> {
    const byId = new Map(items.map(({ tokenId }, index) => [tokenId, told[index]!]));
    const outcomes = tokenIds.map((tokenId): Promise<Told | Outcome<WorkflowStampResponse>> => {
      const place = existing.get(tokenId);
      return place ? Promise.resolve({ made: answerOf(workflowId, tokenId, place) }) : byId.get(tokenId)!;
    });
    return { outcomes, isReplayed };
  }

  async function stampOutputs(command: StampOutputsCommand): Promise<BulkOutcomes<WorkflowStampResponse>> {
    const deadline = startDeadline({ clock, waitMs });
    const begun = await storeBefore(deadline, () => beginMany(command, deadline.begunAt));
    const answerTo = async (heard: Promise<Heard>, { tokenId }: StampItem) =>
      answerOf(begun.workflowId, tokenId, placeOf(begun.workflowId, tokenId, await heard));
    const numbered = await acceptAllAndWait(endsOf(command, deadline), begun.items, (heard, item) => asOutcome(answerTo(heard, item)));
    return inOrder(begun, numbered);
  }

  async function acceptOutputs(command: StampOutputsCommand, patienceMs: number) {
    const deadline = startDeadline({ clock, waitMs });
    const begun = await storeBefore(deadline, () => beginMany(command, deadline.begunAt));
    const { workflowId, items } = begun;
    const accepted = await acceptAllPromised(endsOf(command, deadline), items, patienceMs);
    return inOrder(
      begun,
      items.map(({ tokenId }, index) =>
        asAcceptance(accepted[index]!, {
          made: (heard) => answerOf(workflowId, tokenId, placeOf(workflowId, tokenId, heard)),
          accepted: (said) => acceptedOf(workflowId, tokenId, said),
        }),
      ),
    );
  }

  return { stampOutput, acceptOutput, stampOutputs, acceptOutputs };
}
