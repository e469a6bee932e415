import type { DailyStatsRow } from '../../shared/contract/status.ts';
import type { DailyFigures } from '../../shared/store/counters.ts';
import type { ApiTools } from '../tools.ts';

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

/** Returns the rows of the last `days` UTC days, today included, newest first. @throws ServiceError `store_unavailable` */
export const readDailyStatistics = async ({ store: { counters }, clock }: ApiTools, days: number): Promise<DailyStatsRow[]> =>
  (await counters.daily(days, clock())).map(rowOf);
