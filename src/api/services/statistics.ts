import type { StampListResponse } from '../../shared/contract/stamp.ts';
import type { DailyStatsRow } from '../../shared/contract/stats.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { type CounterStore, type DailyFigures, utcDay } from '../../shared/store/counters.ts';
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

/** What a product may read of its stamps and of the daily counters. */
export interface Statistics {
  listStamps(product: string, page: { limit: number; offset: number }): Promise<StampListResponse>;
  /** Rows of the last `days` UTC days, today included, newest first. */
  daily(days: number): Promise<DailyStatsRow[]>;
}

export function createStatistics(deps: { stamps: StampStore; counters: CounterStore; clock: Clock }): Statistics {
  const { stamps, counters, clock } = deps;
  return {
    listStamps: async (product, page) => {
      const [stored, total] = await Promise.all([stamps.listByProduct(product, page), counters.productTotal(product)]);
      const items = stored.map(({ tokenId, issuedAt, tier, imprint, isQualified }) => ({
        token_id: tokenId,
        issued_at: issuedAt,
        tier,
        content_sha256: imprint.digest,
        is_qualified: isQualified,
      }));
      return { items, total };
    },
    daily: async (days) => (await counters.daily(utcDay(clock() - (days - 1) * dayMs))).map(rowOf),
  };
}
