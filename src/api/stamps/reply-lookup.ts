import { setImmediate as turn } from 'node:timers/promises';
import { type StampedReply, type StampReply, stampedReplyOf } from '../../shared/queue/stamp-job.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { StampJudge } from '../verification/stamp-judge.ts';

type OutputPlace = NonNullable<StampedReply['output']>;

/**
 * Looks into the store for stamps that are waited for. What is found is judged (V9); a stamp that does not verify is none, and its address
 * says so. The stamp of an output is finished only once the output has its number, which is all that is answered of it.
 */
export function createReplyLookup(deps: {
  stamps: Pick<StampStore, 'findMany'>;
  outputs: Pick<OutputStore, 'findByTokens'>;
  stampJudge: Pick<StampJudge, 'storedReplyOf'>;
}) {
  const { stamps, outputs, stampJudge } = deps;

  async function replyOf(stamp: StoredStamp, output: OutputPlace | undefined): Promise<StampReply | undefined> {
    if (stamp.caller.kind === 'workflow') return output && { ...stampedReplyOf(stamp), output };
    // Many may be waited for, and each judgement takes its time.
    await turn();
    return stampJudge.storedReplyOf(stamp);
  }

  return async (tokenIds: readonly string[]): Promise<StampReply[]> => {
    const stored = await stamps.findMany(tokenIds);
    const ofWorkflows = stored.filter(({ caller }) => caller.kind === 'workflow').map(({ tokenId }) => tokenId);
    const numbered = new Map(
      (ofWorkflows.length > 0 ? await outputs.findByTokens(ofWorkflows) : []).map(({ tokenId, outputId, sequenceNumber }) => [
        tokenId,
        { outputId, sequenceNumber },
      ]),
    );
    const replies: StampReply[] = [];
    for (const stamp of stored) {
      const reply = await replyOf(stamp, numbered.get(stamp.tokenId));
      if (reply) replies.push(reply);
    }
    return replies;
  };
}
