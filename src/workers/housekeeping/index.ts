import type { SweptContent } from '../../shared/store/sealed-content.ts';
import { recordFailedStamps } from '../stamping/index.ts';
import type { WorkerTools } from '../tools.ts';

/**
 * Content is stored before its stamp request is accepted. If it is older than this, it is removed, unless its stamp was made or is still in progress.
 */
const orphanAgeMs = 7 * 24 * 3_600_000;

/** Removes sealed content without a stamp, and records given-up jobs that a worker failed to record. */
export async function sweep(tools: WorkerTools): Promise<void> {
  const { store, clock, log } = tools;
  let removed = 0;
  const before = new Date(clock() - orphanAgeMs);
  for await (const contents of store.sealedContents.listNotSwept(before)) {
    const isUnused = async ({ contentId, tokenId }: SweptContent) => (await store.stamps.find(tokenId))?.sealed?.contentId !== contentId;
    const unused = await keep(contents, isUnused);
    if (unused.length === 0) continue;
    const underWay = await tools.readContentsUnderWay();
    // A stamp may have been made since the first check.
    for (const { contentId } of await keep(unused, async (one) => !underWay.has(one.contentId) && (await isUnused(one)))) {
      await store.sealedContents.remove(contentId);
      removed += 1;
    }
  }
  if (removed > 0) log.info({ removed }, 'sealed content without a stamp was removed');
  for await (const { job } of tools.failedJobs.list()) if (job) await recordFailedStamps(tools, job);
}

async function keep<Value>(values: readonly Value[], isKept: (value: Value) => Promise<boolean>): Promise<Value[]> {
  const kept: Value[] = [];
  for (const value of values) if (await isKept(value)) kept.push(value);
  return kept;
}
