import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { OrphanBatchStore } from '../../shared/store/orphan-batches.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

/** Content is stored before its stamp is made. If after this time there is no stamp, its request was never accepted. */
const orphanAgeMs = 7 * 24 * 3_600_000;

/** Removes sealed content, and batches, that no stamp refers to. */
export function createSweepProcessor(deps: {
  sealedContents: SealedContentStore;
  stamps: StampStore;
  orphanBatches: OrphanBatchStore;
  clock: Clock;
  log: Logger;
}): () => Promise<void> {
  return async () => {
    let removed = 0;
    const before = new Date(deps.clock() - orphanAgeMs);
    for await (const { contentId, tokenId } of deps.sealedContents.listPutBefore(before)) {
      const stamp = await deps.stamps.find(tokenId);
      if (stamp?.sealed?.contentId === contentId) continue;
      await deps.sealedContents.remove(contentId);
      removed += 1;
    }
    if (removed > 0) deps.log.info({ removed }, 'sealed content without a stamp was removed');
    const batches = await deps.orphanBatches.sweep(before);
    if (batches > 0) deps.log.info({ removed: batches }, 'batches without stamps were removed');
  };
}
