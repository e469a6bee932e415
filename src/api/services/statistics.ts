import type { z } from 'zod';
import type { StampListResponse } from '../../shared/contract/stamp.ts';
import { contentSha256Of } from '../../shared/contract/stamp.ts';
import type { DailyStatsRow, listQuery } from '../../shared/contract/stats.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { type CounterStore, type DailyFigures, utcDay } from '../../shared/store/counters.ts';
import { othersOf } from '../../shared/store/stamp-document.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

const dayMs = 24 * 3_600_000;

const rowOf = ({ date, provider, isQualified, callerKind, stamps, failed, latencyMs }: DailyFigures): DailyStatsRow => ({
  date,
  provider,
  is_qualified: isQualified,
  caller_kind: callerKind,
  stamps,
  failed,
  latency_ms_p50: latencyMs.p50,
  latency_ms_p95: latencyMs.p95,
});

/**
 * The total of a product's stamps, as shown beside a page of them (S12). Stamps and their counter are written separately, so the counter
 * may differ for a moment from the page. Where the page proves a number, it wins: on the last page the total is exact, on others it is
 * large enough to include the next page.
 */
export function totalOfPage(page: { offset: number; shown: number; hasMore: boolean }, counted: number): number {
  const end = page.offset + page.shown;
  if (page.hasMore) return Math.max(counted, end + 1);
  return page.shown > 0 ? end : Math.min(counted, end);
}

/** What a product may read of its stamps and of the daily counters. */
export interface Statistics {
  listStamps(product: string, query: z.output<typeof listQuery>): Promise<StampListResponse>;
  /** Rows of the last `days` UTC days, today included, newest first. */
  daily(days: number): Promise<DailyStatsRow[]>;
}

export function createStatistics(deps: {
  stamps: StampStore;
  counters: CounterStore;
  /** Resolves once every stamp that a caller was told of is counted. */
  untilCounted: () => Promise<void>;
  clock: Clock;
}): Statistics {
  const { stamps, counters, untilCounted, clock } = deps;
  return {
    listStamps: async (product, { limit, offset, imprints }) => {
      await untilCounted();
      // One more than is shown tells whether the page is the last.
      const [stored, counted, others] = await Promise.all([
        stamps.listByProduct(product, { limit: limit + 1, offset, imprints }),
        counters.productTotal(product),
        imprints === 'all' ? counters.productTotal(othersOf(product)) : 0,
      ]);
      const items = stored.slice(0, limit).map(({ tokenId, issuedAt, tier, imprint, isQualified }) => ({
        token_id: tokenId,
        issued_at: issuedAt,
        tier,
        content_sha256: contentSha256Of(imprint),
        imprint,
        is_qualified: isQualified,
      }));
      return { items, total: totalOfPage({ offset, shown: items.length, hasMore: stored.length > limit }, counted + others) };
    },
    daily: async (days) => {
      await untilCounted();
      return (await counters.daily(utcDay(clock() - (days - 1) * dayMs))).map(rowOf);
    },
  };
}
