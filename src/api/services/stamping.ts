import { type KeyObject, randomBytes, randomUUIDv7 } from 'node:crypto';
import type { StampOrder, StampToken } from '../../shared/contract/stamp.ts';
import { contentSha256Of } from '../../shared/contract/stamp.ts';
import { sealedPath, verifyPath } from '../../shared/domain/addresses.ts';
import type { Caller } from '../../shared/domain/caller.ts';
import { deriveKey, encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import type { RequestFault } from '../../shared/domain/request-fault.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Asked, StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import { acceptAndWait } from './accept-and-wait.ts';
import { type Idempotency, type PassLimit, passLimitOnce } from './idempotency.ts';
import type { Heard, ReplyWaiter } from './reply-waiter.ts';
import { digestOfSecret, sealContent } from './sealed-envelope.ts';
import type { StampJudge } from './stamp-judge.ts';
import type { WriteWatch } from './write-watch.ts';

/** A request to stamp, past every rule of its contract. */
export interface StampCommand {
  readonly order: StampOrder;
  readonly caller: Caller;
  /** Whose idempotency keys these are: a product, or the address of an agent. */
  readonly callerId: string;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly paymentClaim: string | undefined;
  readonly passLimit?: PassLimit;
  /** In the words of a client's TimeStampReq (T2). */
  readonly asked?: Asked;
}

/** `provider_failed` (E9), where the reason is a clock that nobody confirms. */
export class TimeNotAvailableError extends ServiceError {
  constructor() {
    super('provider_failed', 'No provider could make the stamp: the clock that it would be stamped by is not confirmed.');
  }
}

/** No provider takes what the client's TimeStampReq asks for. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError';
  readonly fault: RequestFault;

  constructor(fault: RequestFault) {
    super(`no provider takes the request: ${fault}`);
    this.fault = fault;
  }
}

export interface StampAnswer {
  readonly stamp: StampToken;
  /** Whether an earlier request with the same idempotency key made the stamp (S9). */
  readonly isReplayed: boolean;
}

export interface StampingDeps {
  readonly queue: StampQueue;
  readonly writes: Pick<WriteWatch, 'checkStore'>;
  readonly waiter: ReplyWaiter;
  readonly stamps: StampStore;
  /** Judges what is answered from the store; a worker has verified what it replies. */
  readonly stampJudge: Pick<StampJudge, 'storedReplyOf'>;
  readonly sealedContents: SealedContentStore;
  readonly idempotency: Idempotency;
  /** From it the key of each stamp's metadata is derived. */
  readonly metadataKey: () => Promise<KeyObject>;
  readonly clock: Clock;
  readonly sealedMaxBytes: number;
}

const secretBytes = 32;

/** What REST, MCP and the RFC 3161 door share: a request becomes an accepted job, and the job's outcome becomes the answer. */
export interface Stamping {
  /**
   * @throws ServiceError `payload_too_large`, `rate_limited`, `idempotency_key_reused`, `overloaded`, `queue_unavailable`, `store_unavailable`;
   * `provider_failed` (E9); `internal_error` where the stamp is stored already and does not verify (V9); `stamp_pending` when it was, or may have been, accepted and is not finished in time (E11). RequestRefusedError, only where
   * the command has `asked`.
   */
  stamp(command: StampCommand): Promise<StampAnswer>;
}

export function createStamping(deps: StampingDeps): Stamping {
  const { queue, writes, waiter, stamps, stampJudge, sealedContents, idempotency, metadataKey, clock, sealedMaxBytes } = deps;

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

  async function encryptedOf(tokenId: string, metadata: object): Promise<string> {
    const cipher = { key: deriveKey(await metadataKey(), tokenId), nonce: randomBytes(nonceBytes) };
    return encryptMetadata(cipher, tokenId, metadata);
  }

  async function itemOf(command: StampCommand, tokenId: string, secret: string | undefined): Promise<StampItem> {
    const { order, caller, requestId, paymentClaim, asked } = command;
    const { content, metadata } = order;
    const sealed = content &&
      secret !== undefined && {
        contentId: await sealedContents.put(tokenId, sealContent(secret, tokenId, content)),
        secretSha256: digestOfSecret(secret),
        bytes: content.length,
      };
    return {
      tokenId,
      imprint: order.imprint,
      tier: order.tier,
      caller,
      acceptedAt: clock(),
      requestId,
      ...(metadata && { metadata: await encryptedOf(tokenId, metadata) }),
      ...(paymentClaim !== undefined && { paymentClaim }),
      ...(sealed && { sealed }),
      ...(asked && { asked }),
    };
  }

  function answerOf(order: StampOrder, tokenId: string, secret: string | undefined, { reply, isAccepted }: Heard): StampToken {
    const verify_url = verifyPath(tokenId);
    const sealed_storage_url = secret === undefined ? null : sealedPath(tokenId, secret);
    if (reply?.outcome === 'stamped') {
      return {
        token_id: tokenId,
        issued_at: reply.issuedAt,
        content_sha256: contentSha256Of(order.imprint),
        imprint: order.imprint,
        token: reply.token,
        tier: order.tier,
        tsp_provider: reply.provider,
        is_qualified: reply.isQualified,
        verify_url,
        sealed_storage_url,
      };
    }
    if (reply?.fault !== undefined) throw new RequestRefusedError(reply.fault);
    if (reply?.code === 'time_unavailable') throw new TimeNotAvailableError();
    if (reply) throw new ServiceError('provider_failed', 'No provider could make the stamp.');
    const detail = isAccepted
      ? 'The stamp was accepted and is not finished yet; it will be readable at verify_url.'
      : 'The queue did not say whether it took the stamp; if it did, the stamp will be readable at verify_url.';
    throw new ServiceError('stamp_pending', detail, {
      retryAfterSeconds: 5,
      members: { token_id: tokenId, verify_url, ...(sealed_storage_url !== null && { sealed_storage_url }) },
    });
  }

  async function judgedReplyOf(stored: StoredStamp): Promise<StampReply> {
    const reply = await stampJudge.storedReplyOf(stored);
    if (reply) return reply;
    const { tokenId } = stored;
    throw new ServiceError('internal_error', 'The stored stamp does not verify; verify_url says why.', {
      members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
    });
  }

  return {
    stamp: async (command) => {
      const { order } = command;
      if (order.content && order.content.length > sealedMaxBytes) {
        throw new ServiceError('payload_too_large', `The content is larger than the ${sealedMaxBytes} bytes allowed.`);
      }
      queue.checkCapacity();
      writes.checkStore();
      const { tokenId, secret, isRepeated } = await identify(command);
      const existing = isRepeated ? await stamps.find(tokenId) : null;
      const heard = existing
        ? { reply: await judgedReplyOf(existing), isAccepted: true }
        : await acceptAndWait({ queue, waiter }, await itemOf(command, tokenId, secret));
      return { stamp: answerOf(order, tokenId, secret, heard), isReplayed: isRepeated };
    },
  };
}
