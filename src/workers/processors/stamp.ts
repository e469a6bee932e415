import type { Clock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/log.ts';
import type { Evidence, TimestampProvider } from '../../shared/providers/provider.ts';
import type { JobRun } from '../../shared/queue/jobs.ts';
import type { StampItem, StampJob, StampReply } from '../../shared/queue/stamp-job.ts';
import type { CounterStore, StampTally } from '../../shared/store/counters.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import { type StampStore, stampRecordOf, stampReplyOf } from '../../shared/store/stamps.ts';

export interface StampProcessorDeps {
  readonly provider: TimestampProvider;
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly sealedContents: SealedContentStore;
  readonly sendReplies: (replyTo: string, replies: readonly StampReply[]) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

type Attempt = { readonly item: StampItem; readonly evidence: Evidence } | { readonly item: StampItem; readonly evidence?: undefined };

/**
 * Makes the stamps of one micro-batch: each succeeds or fails alone, all that succeed are written in one insert, and one
 * reply answers the API. A job that was started before asks first what is stored, so that no provider is paid twice.
 *
 * @throws ServiceError `store_unavailable`: the job is tried again.
 */
export function createStampProcessor(deps: StampProcessorDeps): (job: StampJob, run: JobRun) => Promise<void> {
  const { provider, stamps, counters, sealedContents, sendReplies, clock, log } = deps;

  async function attempt(item: StampItem): Promise<Attempt> {
    try {
      return { item, evidence: await provider.stamp({ tokenId: item.tokenId, hash: item.hash, tier: item.tier }) };
    } catch (error) {
      log.warn({ err: error, requestId: item.requestId, tokenId: item.tokenId }, 'the provider could not make the stamp');
      return { item };
    }
  }

  const tallyOf = ({ item, evidence }: Attempt): StampTally => ({
    finishedAt: clock(),
    provider: evidence?.provider ?? provider.name,
    isQualified: evidence?.isQualified ?? provider.isQualified,
    callerKind: item.caller.kind,
    product: item.caller.product,
    outcome: evidence ? 'stamped' : 'failed',
    latencyMs: evidence && clock() - item.acceptedAt,
  });

  async function count(tallies: StampTally[]): Promise<void> {
    try {
      await counters.add(tallies);
    } catch (error) {
      log.error({ err: error, stamps: tallies.length }, 'stamps were written but not counted: run the repair of the counters');
    }
  }

  async function removeContents(items: StampItem[]): Promise<void> {
    for (const { sealed } of items) if (sealed) await sealedContents.remove(sealed.contentId);
  }

  return async ({ replyTo, items }, { isRetry }) => {
    const known = isRetry ? await stamps.findMany(items.map(({ tokenId }) => tokenId)) : [];
    const knownIds = new Set(known.map(({ _id }) => _id));
    const attempts = await Promise.all(items.filter(({ tokenId }) => !knownIds.has(tokenId)).map(attempt));
    const failed = attempts.filter(({ evidence }) => !evidence);

    const records = attempts.flatMap(({ item, evidence }) => (evidence ? [stampRecordOf(item, evidence)] : []));
    const { stored, added } = records.length > 0 ? await stamps.insertOnce(records) : { stored: [], added: [] };
    const addedIds = new Set(added.map(({ _id }) => _id));
    await count(attempts.filter(({ item, evidence }) => !evidence || addedIds.has(item.tokenId)).map(tallyOf));

    await sendReplies(replyTo, [
      ...[...known, ...stored].map(stampReplyOf),
      ...failed.map(({ item }) => ({ outcome: 'failed', tokenId: item.tokenId, code: 'provider_failed' }) as const),
    ]);

    const contentInUse = new Set([...known, ...stored].map(({ sealed }) => sealed?.contentId));
    await removeContents(items.filter(({ sealed }) => sealed && !contentInUse.has(sealed.contentId)));
    for (const { item, evidence } of attempts) {
      if (evidence) log.debug({ requestId: item.requestId, tokenId: item.tokenId, provider: evidence.provider }, 'stamped');
    }
  };
}
