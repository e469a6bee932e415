import type { FailedJobs } from '../../shared/queue/failed-jobs.ts';
import type { FailedJob } from '../../shared/queue/jobs.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { SealedContentStore, SweptContent } from '../../shared/store/sealed-content.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

/**
 * Content is stored before its stamp request is accepted. If it is older than this, it is removed, unless its stamp was made or is still in progress.
 */
const orphanAgeMs = 7 * 24 * 3_600_000;

/** Removes sealed content without a stamp, and records given-up jobs that a worker failed to record. */
export function createSweepProcessor(deps: {
  sealedContents: Pick<SealedContentStore, 'listNotSwept' | 'remove'>;
  /** The ids of contents in unfinished jobs: these jobs remove their content themselves. */
  readContentsUnderWay: () => Promise<ReadonlySet<string>>;
  stamps: Pick<StampStore, 'find'>;
  listFailedJobs: FailedJobs['list'];
  recordFailed: (job: FailedJob) => Promise<unknown>;
  clock: Clock;
  log: Logger;
}): () => Promise<void> {
  return async () => {
    let removed = 0;
    const before = new Date(deps.clock() - orphanAgeMs);
    for await (const contents of deps.sealedContents.listNotSwept(before)) {
      const isUnused = async ({ contentId, tokenId }: SweptContent) => (await deps.stamps.find(tokenId))?.sealed?.contentId !== contentId;
      const unused = await keep(contents, isUnused);
      if (unused.length === 0) continue;
      const underWay = await deps.readContentsUnderWay();
      // A stamp may have been made since the first check.
      for (const { contentId } of await keep(unused, async (one) => !underWay.has(one.contentId) && (await isUnused(one)))) {
        await deps.sealedContents.remove(contentId);
        removed += 1;
      }
    }
    if (removed > 0) deps.log.info({ removed }, 'sealed content without a stamp was removed');
    for await (const { job } of deps.listFailedJobs()) if (job) await deps.recordFailed(job);
  };
}

async function keep<Value>(values: readonly Value[], isKept: (value: Value) => Promise<boolean>): Promise<Value[]> {
  const kept: Value[] = [];
  for (const value of values) if (await isKept(value)) kept.push(value);
  return kept;
}
