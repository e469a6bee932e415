import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { AcceptedStamp, StampOrder, StampToken } from '../../shared/contract/stamp.ts';
import { sealedPath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Asked, StampItem } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import type { WriteWatch } from '../server/write-watch.ts';
import type { StampJudge } from '../verification/stamp-judge.ts';
import { acceptAndWait, acceptPromised } from './accept-and-wait.ts';
import { type Idempotency, type PassLimit, passLimitOnce } from './idempotency.ts';
import type { ReplyWaiter } from './reply-waiter.ts';
import { digestOfSecret, sealContent } from './sealed-envelope.ts';
import { acceptedAnswerOf, judgedReplyOf, stampAnswerOf } from './stamp-answer.ts';
import type { Asker, MakeItem } from './stamp-item.ts';

/** Who asks for stamps, and under which key and limit. */
export interface Requester extends Asker {
  /** Whose idempotency keys these are: a product, or the address of an agent. */
  readonly callerId: string;
  readonly idempotencyKey: string | undefined;
  readonly passLimit?: PassLimit;
}

/** A request to stamp, past every rule of its contract. */
export interface StampCommand extends Requester {
  readonly order: StampOrder;
  /** In the words of a client's TimeStampReq (T2). */
  readonly asked?: Asked;
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
  readonly makeItem: MakeItem;
  readonly clock: Clock;
  readonly waitMs: number;
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
  /**
   * Accepts the same and waits only until that is sure, and then for `patienceMs` at most (N1); a stamp that is there by then is the answer.
   *
   * @throws ServiceError as `stamp`, but for `provider_failed`: what was promised is tried until it is made
   */
  accept(command: StampCommand, patienceMs: number): Promise<StampAnswer | AcceptedAnswer<AcceptedStamp>>;
}

/** What is promised to a caller who does not wait. */
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

  async function itemOf(command: StampCommand, tokenId: string, secret: string | undefined): Promise<StampItem> {
    const { order, asked } = command;
    const { content } = order;
    const sealed = content &&
      secret !== undefined && {
        contentId: await sealedContents.put(tokenId, sealContent(secret, tokenId, content)),
        secretSha256: digestOfSecret(secret),
        bytes: content.length,
      };
    const sealedUrl = secret === undefined ? null : sealedPath(tokenId, secret);
    return { ...(await makeItem(order, tokenId, command, sealedUrl)), ...(sealed && { sealed }), ...(asked && { asked }) };
  }

  /** What the request is, and the stamp that an earlier one has made. */
  async function begin(command: StampCommand) {
    const { content } = command.order;
    if (content && content.length > sealedMaxBytes) {
      throw new ServiceError('payload_too_large', `The content is larger than the ${sealedMaxBytes} bytes allowed.`);
    }
    queue.checkCapacity();
    writes.checkStore();
    const identified = await identify(command);
    return { ...identified, existing: identified.isRepeated ? await stamps.find(identified.tokenId) : null };
  }

  return {
    stamp: async (command) => {
      const { tokenId, secret, isRepeated, existing } = await begin(command);
      const heard = existing
        ? { reply: await judgedReplyOf(stampJudge, existing), isAccepted: true }
        : await acceptAndWait({ queue, waiter }, await itemOf(command, tokenId, secret));
      return { stamp: stampAnswerOf(command.order, tokenId, secret, heard), isReplayed: isRepeated };
    },
    accept: async (command, patienceMs) => {
      const { tokenId, secret, isRepeated, existing } = await begin(command);
      if (existing) {
        const reply = await judgedReplyOf(stampJudge, existing);
        return { stamp: stampAnswerOf(command.order, tokenId, secret, { reply, isAccepted: true }), isReplayed: isRepeated };
      }
      const item = await itemOf(command, tokenId, secret);
      const { acceptance, reply } = await acceptPromised({ queue, waiter, clock, waitMs }, item, patienceMs);
      if (reply) return { stamp: stampAnswerOf(command.order, tokenId, secret, { reply, isAccepted: true }), isReplayed: isRepeated };
      return { accepted: acceptedAnswerOf(command.order, tokenId, secret, acceptance), isReplayed: isRepeated };
    },
  };
}
