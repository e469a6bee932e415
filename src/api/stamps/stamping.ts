import { randomBytes } from 'node:crypto';
import { type AcceptedStamp, type Callback, type StampOrder, type StampToken, stampTokenOf } from '../../shared/contract/stamp.ts';
import { sealedPath, verifyPath } from '../../shared/domain/addresses.ts';
import { deriveKey, encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Caller, idInSeries, type RequestFault } from '../../shared/domain/stamp.ts';
import type { StampItem, TimeStampReqFields } from '../../shared/queue/jobs.ts';
import type { KeyStore } from '../../shared/store/keys.ts';
import { identify, type PassLimit, repliesOfStored } from './idempotency.ts';
import { digestOfSecret, sealContent } from './sealed-contents.ts';
import { type Answers, answerAll, handled, type Outcome, type StampTools } from './submission.ts';

/** A request for one stamp or many. Its orders satisfy their contract. */
export interface StampCommand {
  /** The orders, each with its index in the request. In a bulk request, the ids of the stamps are derived from its id and these indexes (L2). */
  readonly entries: readonly { readonly index: number; readonly order: StampOrder }[];
  /** `stamps` for a bulk request. Each kind of request has its own idempotency keys. */
  readonly operation: 'stamp' | 'stamps';
  readonly caller: Caller;
  /** The owner of the idempotency keys and of a share of the queue: a product, or the address of an agent. */
  readonly callerId: string;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly paymentClaim: string | undefined;
  readonly passLimit?: PassLimit;
  /** For a caller who does not wait: see `SubmitOptions`. */
  readonly patienceMs?: number | undefined;
  /** The parameters of a client's TimeStampReq. */
  readonly asked?: TimeStampReqFields;
}

/** What is answered about one order. `accepted`: only to a caller who does not wait. */
export type Answer<Made, Accepted> = { readonly made: Made } | { readonly accepted: Accepted };
type StampAnswer = Answer<StampToken, AcceptedStamp>;

/**
 * Makes stamps for the REST API, MCP and the RFC 3161 endpoint: orders become accepted jobs, and their outcomes become the answers.
 *
 * If the queue has no room for all stamps of a request, nothing is accepted. Otherwise each answer succeeds or fails on its own. It rejects with
 * ServiceError `provider_failed` (E9); `internal_error` if the stamp could not be made, or is already stored and does not verify; `stamp_pending` if
 * it was accepted, or perhaps was, and is not finished in time (E11); `queue_unavailable`; or RequestRefusedError, only if the command has `asked`.
 *
 * @throws ServiceError `payload_too_large`, `rate_limited`, `idempotency_key_reused`, `overloaded`, `queue_unavailable`, `store_unavailable`: nothing
 *   was accepted
 */
export function stampAll(tools: StampTools, command: StampCommand): Promise<Answers<StampAnswer>> {
  const { callerId, patienceMs } = command;
  const named = new Map<string, Named>();
  return answerAll(tools, {
    callerId,
    patienceMs,
    begin: (begunAt) => begin(tools, command, begunAt, named),
    answerOf: ({ tokenId }, outcome) => stampAnswerOf(named.get(tokenId)!, outcome, patienceMs !== undefined),
  });
}

/** Like `stampAll`, for one order of a caller who waits. @throws also the errors with which its answer rejects */
export async function stampOne(
  tools: StampTools,
  { order, ...command }: Omit<StampCommand, 'entries' | 'operation' | 'patienceMs'> & { readonly order: StampOrder },
): Promise<{ readonly stamp: StampToken; readonly isReplayed: boolean }> {
  const { answers, isReplayed } = await stampAll(tools, { ...command, operation: 'stamp', entries: [{ index: 0, order }] });
  return { stamp: madeOf(await answers[0]!), isReplayed };
}

/** What the ids and the order of a stamp tell its caller. */
interface Named {
  readonly order: StampOrder;
  readonly tokenId: string;
  /** The secret that encrypts sealed content. */
  readonly secret: string | undefined;
  /** The secret path of sealed content. */
  readonly sealedUrl: string | null;
}

/** Identifies the request, finds the stamps that an earlier one with the same key has made, and makes the items of the others. All needs the store. */
async function begin(tools: StampTools, command: StampCommand, begunAt: number, named: Map<string, Named>) {
  const { config, store, submission, writes, stampJudge } = tools;
  const { entries, operation, callerId: caller, idempotencyKey: key, passLimit } = command;
  for (const { order } of entries) checkSize(order.content, config.SEALED_MAX_BYTES);
  submission.checkCapacity(caller, entries.length);
  writes.checkStore();
  const content = key && entries.map(({ index, order: { content, ...rest } }) => ({ index, ...rest, isSealed: content !== undefined }));
  const identity = await identify(tools, { caller, key, operation, content, passLimit });
  const { resourceId, isRepeated } = identity;
  const ordered = entries.map(({ index, order }): Named => {
    const tokenId = operation === 'stamps' ? idInSeries(resourceId, index) : resourceId;
    const secret = order.content && identity.secret();
    return { order, tokenId, secret, sealedUrl: secret ? sealedPath(tokenId, secret) : null };
  });
  for (const one of ordered) named.set(one.tokenId, one);
  const stored = isRepeated ? await store.stamps.findMany([...named.keys()]) : [];
  const replies = new Map(repliesOfStored(stampJudge, stored).map((reply, index) => [stored[index]!.tokenId, reply]));
  const places = await Promise.all(
    ordered.map(async (one) => {
      const reply = replies.get(one.tokenId);
      if (reply) return { known: handled(reply.then((made) => ({ made: stampTokenFor(one, made) }))) };
      return { item: await itemOf(tools, command, one, begunAt) };
    }),
  );
  return { places, isReplayed: isRepeated };
}

function checkSize(content: Buffer | undefined, maxBytes: number): void {
  if (content === undefined || content.length <= maxBytes) return;
  throw new ServiceError('payload_too_large', `The content is larger than the ${maxBytes} bytes allowed.`);
}

/** Makes the job item of an order. Texts from the caller are encrypted with a key for this stamp (S4), and content is stored. */
async function itemOf(
  { store: { keys, sealedContents } }: StampTools,
  command: StampCommand,
  { order, tokenId, secret, sealedUrl }: Named,
  begunAt: number,
): Promise<StampItem> {
  const { caller, requestId, paymentClaim, asked } = command;
  const { product } = caller;
  const { imprint, tier, content, metadata, callbackUrl: url } = order;
  // Only a product may ask for a webhook.
  const callback = url !== undefined && product !== undefined && ({ url, sealed_storage_url: sealedUrl, product } satisfies Callback);
  return {
    tokenId,
    imprint,
    tier,
    caller,
    acceptedAt: begunAt,
    requestId,
    ...(metadata && { metadata: await encryptForStamp(keys, tokenId, metadata) }),
    ...(paymentClaim !== undefined && { paymentClaim }),
    ...(callback && { callback: await encryptForStamp(keys, tokenId, callback) }),
    ...(content &&
      secret && {
        sealed: {
          contentId: await sealedContents.put(tokenId, sealContent(secret, tokenId, content)),
          secretSha256: digestOfSecret(secret),
          bytes: content.length,
        },
      }),
    ...(asked && { asked }),
  };
}

/** What was made for a caller who waits: it is never only accepted. */
export function madeOf<Made>(answer: Answer<Made, unknown>): Made {
  if ('made' in answer) return answer.made;
  throw new Error('a caller who waits was answered as one who does not');
}

const stampTokenFor = ({ order, tokenId, sealedUrl }: Named, reply: Parameters<typeof stampTokenOf>[1]): StampToken =>
  stampTokenOf({ ...order, tokenId }, reply, sealedUrl);

/**
 * The answer about an item after its wait has ended.
 *
 * @throws ServiceError `provider_failed` (E9), `internal_error`, `stamp_pending`; RequestRefusedError
 */
function stampAnswerOf(named: Named, outcome: Outcome, mayBeAccepted: boolean): StampAnswer {
  const { tokenId, sealedUrl } = named;
  if (outcome.state === 'stamped') return { made: stampTokenFor(named, outcome.reply) };
  if (outcome.state === 'failed') throw failureOf(tokenId, outcome);
  const verify_url = verifyPath(tokenId);
  if (outcome.state === 'accepted' && mayBeAccepted)
    return { accepted: { token_id: tokenId, status: 'accepted', verify_url, sealed_storage_url: sealedUrl } };
  const detail =
    outcome.state === 'accepted'
      ? 'The stamp was accepted and is not finished yet. It will be readable at verify_url.'
      : 'The queue did not confirm the stamp. If it has the stamp, it will be readable at verify_url.';
  throw new ServiceError('stamp_pending', detail, {
    retryAfterSeconds: 5,
    members: { token_id: tokenId, verify_url, ...(sealedUrl !== null && { sealed_storage_url: sealedUrl }) },
  });
}

/** The error for a stamp that will not be made. */
function failureOf(tokenId: string, { code, fault }: Extract<Outcome, { state: 'failed' }>): Error {
  if (fault !== undefined) return new RequestRefusedError(fault);
  if (code === 'time_unavailable') return new TimeNotAvailableError();
  if (code === 'stamp_failed') return stampFailed(tokenId);
  return new ServiceError('provider_failed', 'No provider could make the stamp.');
}

/** Encrypts a caller's data about a stamp. The key of each stamp is derived from a key of the service. @throws ServiceError `store_unavailable` */
export async function encryptForStamp(keys: KeyStore, tokenId: string, said: object): Promise<string> {
  const cipher = { key: deriveKey(await keys.secret('stamp-metadata'), tokenId), nonce: randomBytes(nonceBytes) };
  return encryptMetadata(cipher, tokenId, JSON.stringify(said));
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
