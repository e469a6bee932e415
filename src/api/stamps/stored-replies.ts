import { setImmediate as turn } from 'node:timers/promises';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type OutputPlace, type StampedReply, stampedReplyOf } from '../../shared/queue/jobs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';

/** Verifies a stored stamp before it becomes an answer. Returns undefined if it does not verify. */
export interface StoredStampJudge {
  storedReplyOf(stamp: StoredStamp): Promise<StampedReply | undefined>;
}

/**
 * Looks for stamps in the store and verifies them (V9). Returns their replies by id. A stamp that does not verify counts as missing; its `verify_url`
 * shows the reason. The stamp of an output counts as found only when the output has its number. It is not verified, because the answer contains only
 * the output's ids and number.
 */
export async function findReplies(
  { stamps, outputs }: Store,
  stampJudge: StoredStampJudge,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, StampedReply>> {
  const stored = await stamps.findMany(tokenIds);
  const ofWorkflows = stored.filter(({ caller }) => caller.kind === 'workflow').map(({ tokenId }) => tokenId);
  const numbered = ofWorkflows.length > 0 ? await outputs.findByTokens(ofWorkflows) : [];
  const places = new Map(numbered.map(({ tokenId, outputId, sequenceNumber }) => [tokenId, { outputId, sequenceNumber }]));
  const replies = new Map<string, StampedReply>();
  for (const stamp of stored) {
    const reply = await replyOf(stampJudge, stamp, places.get(stamp.tokenId));
    if (reply) replies.set(stamp.tokenId, reply);
  }
  return replies;
}

async function replyOf(
  stampJudge: StoredStampJudge,
  stamp: StoredStamp,
  output: OutputPlace | undefined,
): Promise<StampedReply | undefined> {
  if (stamp.caller.kind === 'workflow') return output && { ...stampedReplyOf(stamp), output };
  // There may be many stamps and each verification takes time, so other work gets a turn before each.
  await turn();
  return stampJudge.storedReplyOf(stamp);
}

/**
 * The replies for stamps that an earlier request made, in their order. They are verified again (V9), one after the other, because each verification
 * takes time.
 *
 * @throws ServiceError `internal_error` for a stamp that does not verify, as the rejection of its promise
 */
export function repliesOfStored(stampJudge: StoredStampJudge, stored: readonly StoredStamp[]): Promise<StampedReply>[] {
  let before: Promise<unknown> = Promise.resolve();
  return stored.map((stamp) => {
    const judged = before.then(turn).then(async () => {
      const reply = await stampJudge.storedReplyOf(stamp);
      if (reply) return reply;
      const { tokenId } = stamp;
      throw new ServiceError('internal_error', 'The stored stamp does not verify. See verify_url for the reason.', {
        members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
      });
    });
    before = judged.catch(() => undefined);
    return judged;
  });
}
