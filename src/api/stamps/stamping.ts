import { type KeyObject, randomBytes, randomUUIDv7 } from 'node:crypto';
import { type AcceptedStamp, type StampOrder, type StampToken, stampTokenOf } from '../../shared/contract/stamp.ts';
import type { Callback } from '../../shared/contract/webhook.ts';
import { sealedPath, verifyPath } from '../../shared/domain/addresses.ts';
import type { Caller } from '../../shared/domain/caller.ts';
import { deriveKey, encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import type { RequestFault } from '../../shared/domain/request-fault.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Acceptance } from '../../shared/queue/open-queue.ts';
import type { Asked, StampedReply, StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { WriteWatch } from '../server/write-watch.ts';
import { startDeadline, storeBefore } from './deadline.ts';
import { type Idempotency, type PassLimit, passLimitOnce } from './idempotency.ts';
import { acceptAndWait, acceptPromised, type Heard, type ReplyWaiter, type StoredStampJudge } from './reply-waiter.ts';
import { digestOfSecret, sealContent } from './sealed-contents.ts';

/** The caller of a request, with its idempotency key and rate limit. */
export interface Requester extends Asker {
  /** The owner of the idempotency keys and of a share of the queue: a product, or the address of an agent. */
  readonly callerId: string;
  readonly idempotencyKey: string | undefined;
  readonly passLimit?: PassLimit;
}

/** A stamp request that satisfies its contract. */
export interface StampCommand extends Requester {
  readonly order: StampOrder;
  /** The parameters of a client's TimeStampReq. */
  readonly asked?: Asked;
}

export interface StampAnswer {
  readonly stamp: StampToken;
  /** Whether an earlier request had the same idempotency key. */
  readonly isReplayed: boolean;
}

export interface StampingDeps {
  readonly queue: StampQueue;
  readonly writes: Pick<WriteWatch, 'checkStore'>;
  readonly waiter: ReplyWaiter;
  readonly stamps: StampStore;
  /** Verifies stamps from the store before they become answers. Replies of workers are verified already. */
  readonly stampJudge: StoredStampJudge;
  readonly sealedContents: SealedContentStore;
  readonly idempotency: Idempotency;
  readonly makeItem: MakeItem;
  readonly clock: Clock;
  readonly waitMs: number;
  readonly sealedMaxBytes: number;
}

const secretBytes = 32;

/** Makes stamps for the REST API, MCP and the RFC 3161 endpoint: a request becomes an accepted job, and the outcome of the job becomes the answer. */
export interface Stamping {
  /**
   * @throws ServiceError `payload_too_large`, `rate_limited`, `idempotency_key_reused`, `overloaded`, `queue_unavailable`, `store_unavailable`;
   *   `provider_failed`; `internal_error` if the stamp could not be made, or is already stored and does not verify; `stamp_pending` if it was
   *   accepted, or perhaps was, and is not finished in time (E11). RequestRefusedError, only if the command has `asked`
   */
  stamp(command: StampCommand): Promise<StampAnswer>;
  /**
   * Waits until the request is accepted, and then at most `patienceMs` for the stamp (N1). If the stamp is finished by then, it is the answer.
   *
   * @throws the same ServiceErrors as `stamp`, except `provider_failed`: a promised stamp is retried until it is made
   */
  accept(command: StampCommand, patienceMs: number): Promise<StampAnswer | AcceptedAnswer<AcceptedStamp>>;
}

/** The answer to a caller who does not wait for the outcome. */
export interface AcceptedAnswer<Accepted> {
  readonly accepted: Accepted;
  readonly isReplayed: boolean;
}

export function createStamping(deps: StampingDeps): Stamping {
  const { queue, writes, waiter, stamps, stampJudge, sealedContents, idempotency, makeItem, sealedMaxBytes } = deps;
  const { clock, waitMs } = deps;

  async function identify({ idempotencyKey: key, callerId: caller, order, passLimit }: StampCommand) {
    const freshId = randomUUIDv7();
    const { content, ...rest } = order;
    const asked = { ...rest, isSealed: content !== undefined };
    const keyed = key === undefined ? undefined : { caller, key, operation: 'stamp', content: asked };
    await passLimitOnce(idempotency, passLimit, keyed);
    if (keyed === undefined)
      return { tokenId: freshId, secret: content && randomBytes(secretBytes).toString('base64url'), isRepeated: false };
    const bound = await idempotency.bind(keyed, freshId);
    return { tokenId: bound.resourceId, secret: content && bound.secret, isRepeated: bound.isRepeated };
  }

  async function itemOf(command: StampCommand, begunAt: number, tokenId: string, secret: string | undefined): Promise<StampItem> {
    const { order, asked } = command;
    const { content } = order;
    const sealed = content &&
      secret !== undefined && {
        contentId: await sealedContents.put(tokenId, sealContent(secret, tokenId, content)),
        secretSha256: digestOfSecret(secret),
        bytes: content.length,
      };
    const sealedUrl = secret === undefined ? null : sealedPath(tokenId, secret);
    return { ...(await makeItem(order, tokenId, { ...command, begunAt }, sealedUrl)), ...(sealed && { sealed }), ...(asked && { asked }) };
  }

  /**
   * Identifies the request, and finds the stamp if an earlier request with the same idempotency key has made it. Otherwise it makes the item. All this
   * needs the store.
   */
  async function begin(command: StampCommand, begunAt: number) {
    const { content } = command.order;
    if (content && content.length > sealedMaxBytes) {
      throw new ServiceError('payload_too_large', `The content is larger than the ${sealedMaxBytes} bytes allowed.`);
    }
    queue.checkCapacity(command.callerId, 1);
    writes.checkStore();
    const identified = await identify(command);
    const { tokenId, secret, isRepeated } = identified;
    const stored = isRepeated ? await stamps.find(tokenId) : null;
    if (stored) return { ...identified, existing: await judgedReplyOf(stampJudge, stored), item: undefined };
    return { ...identified, existing: undefined, item: await itemOf(command, begunAt, tokenId, secret) };
  }

  return {
    stamp: async (command) => {
      const deadline = startDeadline({ clock, waitMs });
      const { tokenId, secret, isRepeated, existing, item } = await storeBefore(deadline, () => begin(command, deadline.begunAt));
      const { callerId } = command;
      const heard = item ? await acceptAndWait({ queue, waiter, callerId, deadline }, item) : { reply: existing, isAccepted: true };
      return { stamp: stampAnswerOf(command.order, tokenId, secret, heard), isReplayed: isRepeated };
    },
    accept: async (command, patienceMs) => {
      const deadline = startDeadline({ clock, waitMs });
      const { tokenId, secret, isRepeated, existing, item } = await storeBefore(deadline, () => begin(command, deadline.begunAt));
      const answerOf = (reply: StampReply) => ({
        stamp: stampAnswerOf(command.order, tokenId, secret, { reply, isAccepted: true }),
        isReplayed: isRepeated,
      });
      if (!item) return answerOf(existing);
      const { callerId } = command;
      const { acceptance, reply } = await acceptPromised({ queue, waiter, callerId, deadline }, item, patienceMs);
      if (reply) return answerOf(reply);
      return { accepted: acceptedAnswerOf(command.order, tokenId, secret, acceptance), isReplayed: isRepeated };
    },
  };
}

/** The caller, and facts about its request that are stored with the stamp. */
export interface Asker {
  readonly caller: Caller;
  readonly requestId: string;
  readonly paymentClaim: string | undefined;
}

/**
 * Makes the job item of an order, without its content. Texts from the caller are encrypted with a key for this stamp (S4). `sealedUrl`: the secret
 * path of the content.
 *
 * @throws ServiceError `store_unavailable`
 */
export type MakeItem = (
  order: StampOrder,
  tokenId: string,
  asker: Asker & { /** When the request began: its caller waits since then. */ readonly begunAt: number },
  sealedUrl?: string | null,
) => Promise<StampItem>;

/** Encrypts a caller's data about a stamp with a key for this stamp. @throws ServiceError `store_unavailable` */
export type EncryptForStamp = (tokenId: string, said: object) => Promise<string>;

/** The key of each stamp is derived from `metadataKey`. */
export const createStampEncryption =
  (metadataKey: () => Promise<KeyObject>): EncryptForStamp =>
  async (tokenId, said) => {
    const cipher = { key: deriveKey(await metadataKey(), tokenId), nonce: randomBytes(nonceBytes) };
    return encryptMetadata(cipher, tokenId, JSON.stringify(said));
  };

export function createItemMaker({ encryptedOf }: { encryptedOf: EncryptForStamp }): MakeItem {
  return async (
    { imprint, tier, metadata, callbackUrl: url },
    tokenId,
    { caller, requestId, paymentClaim, begunAt },
    sealedUrl = null,
  ) => ({
    tokenId,
    imprint,
    tier,
    caller,
    acceptedAt: begunAt,
    requestId,
    ...(metadata && { metadata: await encryptedOf(tokenId, metadata) }),
    ...(paymentClaim !== undefined && { paymentClaim }),
    // Only a product may ask for a webhook.
    ...(url !== undefined &&
      caller.product !== undefined && {
        callback: await encryptedOf(tokenId, { url, sealed_storage_url: sealedUrl, product: caller.product } satisfies Callback),
      }),
  });
}

/** The code is `provider_failed`, and the reason is that nothing confirms the clock. */
export class TimeNotAvailableError extends ServiceError {
  constructor() {
    super('provider_failed', 'No provider could make the stamp: nothing confirms the clock that it needs.');
  }
}

/** No provider accepts the client's TimeStampReq. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError';
  readonly fault: RequestFault;

  constructor(fault: RequestFault) {
    super(`no provider accepts the request: ${fault}`);
    this.fault = fault;
  }
}

/** The error for a stamp that was accepted but cannot be made. */
export const stampFailed = (tokenId: string): ServiceError =>
  new ServiceError('internal_error', 'The stamp was accepted but could not be made. The operator of the service has to look at it.', {
    members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
  });

/**
 * The answer to an order after its wait has ended. `secret`: the secret in the path of sealed content.
 *
 * @throws ServiceError `provider_failed` (E9), `internal_error`, `stamp_pending` if there is no reply; RequestRefusedError
 */
export function stampAnswerOf(order: StampOrder, tokenId: string, secret: string | undefined, { reply, isAccepted }: Heard): StampToken {
  const verify_url = verifyPath(tokenId);
  const sealed_storage_url = secret === undefined ? null : sealedPath(tokenId, secret);
  if (reply?.outcome === 'stamped') return stampTokenOf({ ...order, tokenId }, reply, sealed_storage_url);
  if (reply?.fault !== undefined) throw new RequestRefusedError(reply.fault);
  if (reply?.code === 'time_unavailable') throw new TimeNotAvailableError();
  if (reply?.code === 'stamp_failed') throw stampFailed(tokenId);
  if (reply) throw new ServiceError('provider_failed', 'No provider could make the stamp.');
  const detail = isAccepted
    ? 'The stamp was accepted and is not finished yet. It will be readable at verify_url.'
    : 'The queue did not confirm the stamp. If it has the stamp, it will be readable at verify_url.';
  throw new ServiceError('stamp_pending', detail, {
    retryAfterSeconds: 5,
    members: { token_id: tokenId, verify_url, ...(sealed_storage_url !== null && { sealed_storage_url }) },
  });
}

/** The answer before the stamp is made. @throws ServiceError `stamp_pending` if it is not known whether the queue has the item */
export function acceptedAnswerOf(order: StampOrder, tokenId: string, secret: string | undefined, acceptance: Acceptance): AcceptedStamp {
  if (acceptance === 'unanswered') stampAnswerOf(order, tokenId, secret, { reply: undefined, isAccepted: false });
  const sealed_storage_url = secret === undefined ? null : sealedPath(tokenId, secret);
  return { token_id: tokenId, status: 'accepted', verify_url: verifyPath(tokenId), sealed_storage_url };
}

/**
 * The reply for a stamp that an earlier request made. It is verified again (V9).
 *
 * @throws ServiceError `internal_error` if it does not verify
 */
export async function judgedReplyOf(stampJudge: StoredStampJudge, stored: StoredStamp): Promise<StampedReply> {
  const reply = await stampJudge.storedReplyOf(stored);
  if (reply) return reply;
  const { tokenId } = stored;
  throw new ServiceError('internal_error', 'The stored stamp does not verify. See verify_url for the reason.', {
    members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
  });
}
