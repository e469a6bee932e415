import type { StampListResponse } from '../../shared/contract/stamp.ts';
import type { DailyStatsRow } from '../../shared/contract/stats.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { type CounterStore, utcDay } from '../../shared/store/counters.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

const dayMs = 24 * 3_600_000;

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
      const [records, total] = await Promise.all([stamps.listByProduct(product, page), counters.productTotal(product)]);
      const items = records.map(({ _id, issuedAt, tier, hash, isQualified }) => ({
        token_id: _id,
        issued_at: issuedAt,
        tier,
        content_sha256: hash,
        is_qualified: isQualified,
      }));
      return { items, total };
    },
    daily: (days) => counters.daily(utcDay(clock() - (days - 1) * dayMs)),
  };
}
