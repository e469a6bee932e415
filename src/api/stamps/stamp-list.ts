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

/** Up to so many stamps of a product are counted when somebody asks (S12). */
const countedWhenAsked = 10_000;

/** What a product may read of its stamps and of the daily counters. */
export interface Statistics {
  listStamps(product: string, query: z.output<typeof listQuery>): Promise<StampListResponse>;
  /** Rows of the last `days` UTC days, today included, newest first. */
  daily(days: number): Promise<DailyStatsRow[]>;
}

export function createStatistics(deps: {
  stamps: Pick<StampStore, 'listByProduct' | 'countByProduct'>;
  counters: Pick<CounterStore, 'productTotal' | 'daily'>;
  clock: Clock;
}): Statistics {
  const { stamps, counters, clock } = deps;

  async function totalOf(product: string, imprints: 'sha256' | 'all' | undefined): Promise<number> {
    const counted = await stamps.countByProduct(product, imprints, countedWhenAsked + 1);
    if (counted <= countedWhenAsked) return counted;
    return Math.max(counted, await counters.productTotal(imprints === 'all' ? [product, othersOf(product)] : [product]));
  }

  return {
    listStamps: async (product, { limit, offset, imprints }) => {
      const [stored, total] = await Promise.all([stamps.listByProduct(product, { limit, offset, imprints }), totalOf(product, imprints)]);
      const items = stored.map(({ tokenId, issuedAt, tier, imprint, isQualified }) => ({
        token_id: tokenId,
        issued_at: issuedAt,
        tier,
        content_sha256: contentSha256Of(imprint),
        imprint,
        is_qualified: isQualified,
      }));
      // The page may show stamps that were made after the total was read.
      return { items, total: items.length === 0 ? total : Math.max(total, offset + items.length) };
    },
    daily: async (days) => (await counters.daily(utcDay(clock() - (days - 1) * dayMs), clock())).map(rowOf),
  };
}
