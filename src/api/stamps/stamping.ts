import { randomBytes } from 'node:crypto';
import { type AcceptedStamp, type Callback, type StampOrder, type StampToken, stampTokenOf } from '../../shared/contract/stamp.ts';
import { sealedPath, verifyPath } from '../../shared/domain/addresses.ts';
import { deriveKey, encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Caller, RequestFault } from '../../shared/domain/stamp.ts';
import type { StampItem, TimeStampReqFields } from '../../shared/queue/jobs.ts';
import { transferMs } from '../../shared/store/connection.ts';
import type { KeyStore } from '../../shared/store/keys.ts';
import { repliesOfStored } from './idempotency.ts';
import { type Answer, type Answers, type FailedOutcome, fulfilRequest, type NamedOrder, type StampingRequest } from './request.ts';
import { digestOfSecret, sealContent } from './sealed-contents.ts';
import type { StampTools } from './submission.ts';

/** A request for one stamp or many. `callerId` is also the owner of its idempotency keys. */
export interface StampCommand extends StampingRequest<StampOrder> {
  readonly caller: Caller;
  readonly paymentClaim?: string | undefined;
  /** The parameters of a client's TimeStampReq. */
  readonly asked?: TimeStampReqFields;
}

/**
 * Makes stamps for the REST API, MCP and the RFC 3161 endpoint: orders become accepted jobs, and their outcomes become the answers.
 *
 * If the queue has no room for all stamps of a request, nothing is accepted. Otherwise each answer succeeds or fails on its own. It rejects with
 * ServiceError `provider_failed` (E9); `internal_error` if the stamp could not be made, or is already stored and does not verify; `stamp_pending` if
 * it was accepted, or perhaps was, and is not finished in time (E11); `queue_unavailable`; or ProviderRefusalError.
 *
 * @throws ServiceError `payload_too_large`, `rate_limited`, `idempotency_key_reused`, `overloaded`, `queue_unavailable`, `store_unavailable`: nothing
 *   was accepted
 */
export async function stampAll(tools: StampTools, command: StampCommand): Promise<Answers<StampToken, AcceptedStamp>> {
  const { config, submission, writes } = tools;
  const { entries, isBulk, callerId: caller, idempotencyKey: key } = command;
  for (const { order } of entries) checkSize(order.content, config.SEALED_MAX_BYTES);
  submission.checkCapacity(caller, entries.length);
  writes.checkStore();
  const content = key && entries.map(({ index, order: { content, ...rest } }) => ({ index, ...rest, isSealed: content !== undefined }));
  const bytes = entries.reduce((sum, { order }) => sum + (order.content?.length ?? 0), 0);
  const request = { ...command, extraMs: transferMs(bytes) };
  return fulfilRequest(tools, request, {
    identity: { caller, operation: isBulk ? 'stamps' : 'stamp', content },
    findMade: (named) => findMade(tools, named),
    itemOf: (named, begunAt) => itemOf(tools, command, named, begunAt),
    madeOf: tokenOf,
    failureOf,
    addressesOf: (named) => ({ verify_url: verifyPath(named.tokenId), sealed_storage_url: sealedUrlOf(named) }),
    pending: {
      accepted: 'The stamp was accepted and is not finished yet. It will be readable at verify_url.',
      unconfirmed: 'The queue did not confirm the stamp. If it has the stamp, it will be readable at verify_url.',
    },
  });
}

/** Like `stampAll`, for one order of a caller who waits. @throws also the errors with which its answer rejects */
export async function stampOne(
  tools: StampTools,
  { order, ...command }: Omit<StampCommand, 'entries' | 'isBulk' | 'patienceMs'> & { readonly order: StampOrder },
): Promise<{ readonly stamp: StampToken; readonly isReplayed: boolean }> {
  const { answers, isReplayed } = await stampAll(tools, { ...command, entries: [{ index: 0, order }] });
  return { stamp: madeOf(await answers[0]!), isReplayed };
}

/** What was made for a caller who waits: it is never only accepted. */
export function madeOf<Made>(answer: Answer<Made>): Made {
  if ('made' in answer) return answer.made;
  throw new Error('a caller who waits was answered as one who does not');
}

type NamedStamp = NamedOrder<StampOrder>;

async function findMade(
  { store, stampJudge }: StampTools,
  named: readonly NamedStamp[],
): Promise<ReadonlyMap<string, Promise<StampToken>>> {
  const byId = new Map(named.map((one) => [one.tokenId, one]));
  const stored = await store.stamps.findMany([...byId.keys()]);
  const replies = repliesOfStored(stampJudge, stored);
  return new Map(stored.map(({ tokenId }, place) => [tokenId, replies[place]!.then((reply) => tokenOf(byId.get(tokenId)!, reply))]));
}

function checkSize(content: Buffer | undefined, maxBytes: number): void {
  if (content === undefined || content.length <= maxBytes) return;
  throw new ServiceError('payload_too_large', `The content is larger than the ${maxBytes} bytes allowed.`);
}

/** Makes the job item of an order. Texts from the caller are encrypted with a key for this stamp (S4), and content is stored. */
async function itemOf(
  { store: { keys, sealedContents }, clock }: StampTools,
  { caller, requestId, paymentClaim, asked }: StampCommand,
  named: NamedStamp,
  begunAt: number,
): Promise<StampItem> {
  const { order, tokenId, secret } = named;
  const { product } = caller;
  const { imprint, tier, content, metadata, callbackUrl: url } = order;
  // Only a product may ask for a webhook.
  const callback =
    url !== undefined && product !== undefined && ({ url, sealed_storage_url: sealedUrlOf(named), product } satisfies Callback);
  const sealed = content && {
    contentId: await sealedContents.put(tokenId, sealContent(secret(), tokenId, content)),
    secretSha256: digestOfSecret(secret()),
    bytes: content.length,
  };
  return {
    tokenId,
    imprint,
    tier,
    caller,
    // The transfer of content does not count as waiting.
    acceptedAt: sealed ? clock() : begunAt,
    requestId,
    ...(metadata && { metadata: await encryptForStamp(keys, tokenId, metadata) }),
    ...(paymentClaim !== undefined && { paymentClaim }),
    ...(callback && { callback: await encryptForStamp(keys, tokenId, callback) }),
    ...(sealed && { sealed }),
    ...(asked && { asked }),
  };
}

const sealedUrlOf = ({ order, tokenId, secret }: NamedStamp): string | null => (order.content ? sealedPath(tokenId, secret()) : null);

const tokenOf = (named: NamedStamp, reply: Parameters<typeof stampTokenOf>[1]): StampToken =>
  stampTokenOf({ ...named.order, tokenId: named.tokenId }, reply, sealedUrlOf(named));

/** The error for a stamp that will not be made. */
export function failureOf(tokenId: string, { code, fault }: FailedOutcome): ServiceError {
  if (fault !== undefined) return new ProviderRefusalError(fault);
  if (code === 'time_unavailable') return new ProviderRefusalError('timeNotAvailable');
  if (code !== 'stamp_failed') return new ServiceError('provider_failed', 'No provider could make the stamp.');
  return new ServiceError(
    'internal_error',
    'The stamp was accepted but could not be made. The operator of the service has to look at it.',
    {
      members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
    },
  );
}

/** Encrypts a caller's data about a stamp. The key of each stamp is derived from a key of the service. @throws ServiceError `store_unavailable` */
export async function encryptForStamp(keys: KeyStore, tokenId: string, data: object): Promise<string> {
  const cipher = { key: deriveKey(await keys.secret('stamp-metadata'), tokenId), nonce: randomBytes(nonceBytes) };
  return encryptMetadata(cipher, tokenId, JSON.stringify(data));
}

/** No provider could make the stamp, for a reason that RFC 3161 has a code for. */
export class ProviderRefusalError extends ServiceError {
  readonly fault: RequestFault | 'timeNotAvailable';

  constructor(fault: ProviderRefusalError['fault']) {
    super('provider_failed', refusals[fault]);
    this.fault = fault;
  }
}

const refusals = {
  badAlg: 'No provider accepts this hash algorithm.',
  badRequest: 'No provider accepts this request.',
  badDataFormat: 'No provider accepts this request.',
  unacceptedPolicy: 'No provider stamps under this policy.',
  unacceptedExtension: 'No provider accepts this extension.',
  timeNotAvailable: 'No provider could make the stamp: nothing confirms the clock that it needs.',
} as const satisfies Record<ProviderRefusalError['fault'], string>;
