import { type AcceptedStamp, type StampOrder, type StampToken, stampTokenOf } from '../../shared/contract/stamp.ts';
import { sealedPath, verifyPath } from '../../shared/domain/addresses.ts';
import type { RequestFault } from '../../shared/domain/request-fault.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Acceptance } from '../../shared/queue/acceptance.ts';
import type { StampedReply } from '../../shared/queue/stamp-job.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { StampJudge } from '../verification/stamp-judge.ts';
import type { Heard } from './reply-waiter.ts';

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

/** The service itself cannot make a stamp that it accepted; an operator has to look at it. */
export const stampFailed = (tokenId: string): ServiceError =>
  new ServiceError('internal_error', 'The stamp was accepted and could not be made; the operator of the service has to look at it.', {
    members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
  });

/**
 * What an order is answered once its outcome was heard. `secret`: of the address of sealed content.
 *
 * @throws ServiceError `provider_failed` (E9), `stamp_pending` (E11), `internal_error`; RequestRefusedError
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
    ? 'The stamp was accepted and is not finished yet; it will be readable at verify_url.'
    : 'The queue did not say whether it took the stamp; if it did, the stamp will be readable at verify_url.';
  throw new ServiceError('stamp_pending', detail, {
    retryAfterSeconds: 5,
    members: { token_id: tokenId, verify_url, ...(sealed_storage_url !== null && { sealed_storage_url }) },
  });
}

/** What is answered before the stamp is made (N1). @throws ServiceError `stamp_pending` where nobody knows whether the queue has it (E11) */
export function acceptedAnswerOf(order: StampOrder, tokenId: string, secret: string | undefined, acceptance: Acceptance): AcceptedStamp {
  if (acceptance === 'unanswered') stampAnswerOf(order, tokenId, secret, { reply: undefined, isAccepted: false });
  const sealed_storage_url = secret === undefined ? null : sealedPath(tokenId, secret);
  return { token_id: tokenId, status: 'accepted', verify_url: verifyPath(tokenId), sealed_storage_url };
}

/**
 * The reply for a stamp that an earlier request made, judged again (V9).
 *
 * @throws ServiceError `internal_error` where it does not verify
 */
export async function judgedReplyOf(stampJudge: Pick<StampJudge, 'storedReplyOf'>, stored: StoredStamp): Promise<StampedReply> {
  const reply = await stampJudge.storedReplyOf(stored);
  if (reply) return reply;
  const { tokenId } = stored;
  throw new ServiceError('internal_error', 'The stored stamp does not verify; verify_url says why.', {
    members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
  });
}
