import type { JobRun } from '../../shared/queue/jobs.ts';
import { type StampItem, type StampJob, type StampReply, stampedReplyOf } from '../../shared/queue/stamp-job.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import { ProviderError } from '../providers/provider.ts';
import type { AppendOutput } from '../stamping/output-appender.ts';
import type { MakeStamps } from '../stamping/stamp-maker.ts';

export interface StampProcessorDeps {
  readonly makeStamps: MakeStamps;
  readonly appendOutput: AppendOutput;
  readonly sealedContents: SealedContentStore;
  readonly sendReplies: (replyTo: string, replies: readonly StampReply[]) => Promise<void>;
  readonly clock: Clock;
  /** How long callers wait, milliseconds. */
  readonly waitMs: number;
}

/** In the last tenth of its time a caller counts as gone: the reply might come too late. */
const patience = 0.9;

/**
 * Makes the stamps of one job and answers the API with one reply. The stamp of an output is answered once the output has its number (W8).
 * If every provider fails, a caller who still waits is told (E9); for one who got 504, and so was promised the stamp, it is tried again
 * (E11).
 *
 * @throws ServiceError `store_unavailable`, ProviderError: the job, or what is left of it, is tried again.
 */
export function createStampProcessor(deps: StampProcessorDeps): (job: StampJob, run: JobRun) => Promise<void> {
  const { makeStamps, appendOutput, sealedContents, sendReplies, clock, waitMs } = deps;

  async function removeContents(items: readonly StampItem[]): Promise<void> {
    for (const { sealed } of items) if (sealed) await sealedContents.remove(sealed.contentId);
  }

  async function replyOf(stamp: StoredStamp, item: StampItem | undefined): Promise<StampReply> {
    const reply = stampedReplyOf(stamp);
    if (!item?.output) return reply;
    const output = await appendOutput(item.output, stamp);
    if (!output) return { outcome: 'failed', tokenId: stamp.tokenId, code: 'workflow_closed' };
    return { ...reply, output: { outputId: output.outputId, sequenceNumber: output.sequenceNumber } };
  }

  return async ({ replyTo, items }, run) => {
    const isFinal = ({ acceptedAt }: StampItem) => clock() - acceptedAt < patience * waitMs;
    const { stored, failed, refused, owed } = await makeStamps(items, { ...run, isFinal });
    const itemsById = new Map(items.map((item) => [item.tokenId, item]));
    await sendReplies(replyTo, [
      ...(await Promise.all(stored.map((stamp) => replyOf(stamp, itemsById.get(stamp.tokenId))))),
      ...failed.map(({ tokenId }) => ({ outcome: 'failed', tokenId, code: 'provider_failed' }) as const),
      ...refused.map(({ tokenId }) => ({ outcome: 'failed', tokenId, code: 'tier_unavailable' }) as const),
    ]);

    const contentInUse = new Set(stored.map(({ sealed }) => sealed?.contentId));
    for (const { sealed } of owed) contentInUse.add(sealed?.contentId);
    await removeContents(items.filter(({ sealed }) => sealed && !contentInUse.has(sealed.contentId)));
    if (owed.length === 0) return;
    await run.keepOnly({ replyTo, items: owed });
    throw new ProviderError(`${owed.length} stamps are owed to callers who no longer wait`);
  };
}
