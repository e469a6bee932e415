import { type StampReply, stampedReplyOf } from '../../shared/queue/stamp-job.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

/** Looks into the store for stamps that are waited for. The stamp of an output is finished only once the output has its number. */
export function createReplyLookup({ stamps, outputs }: { stamps: StampStore; outputs: OutputStore }) {
  return async (tokenIds: readonly string[]): Promise<StampReply[]> => {
    const stored = await stamps.findMany(tokenIds);
    const ofWorkflows = stored.filter(({ caller }) => caller.kind === 'workflow').map(({ tokenId }) => tokenId);
    const numbered = new Map(
      (ofWorkflows.length > 0 ? await outputs.findByTokens(ofWorkflows) : []).map((output) => [output.tokenId, output]),
    );
    return stored.flatMap((stamp) => {
      if (stamp.caller.kind !== 'workflow') return [stampedReplyOf(stamp)];
      const output = numbered.get(stamp.tokenId);
      return output ? [{ ...stampedReplyOf(stamp), output: { outputId: output.outputId, sequenceNumber: output.sequenceNumber } }] : [];
    });
  };
}
