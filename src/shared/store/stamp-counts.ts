import type { Collection, Db, UUID } from 'mongodb';
import type { CallerKind } from '../domain/caller.ts';
import { firstIdAt, timeOfId } from '../domain/stamp-id.ts';
import type { BatchStore } from './batches.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { keyOfName, keyOfSeries, mergeCounts, type PeriodCounts } from './period-counts.ts';
import type { StampDocument } from './stamp-document.ts';

/** A group of stamps that have the same values in all counted fields. */
interface Group {
  readonly _id: {
    readonly kind?: unknown;
    readonly product?: unknown;
    readonly provider?: unknown;
    readonly isQualified?: unknown;
    readonly batch?: unknown;
  };
  readonly stamps: number;
}

/** The time span of one query, in milliseconds. It is short, so that no query takes longer than `maxTimeMS`, even in a busy hour. */
const spanMs = 60_000;

/** The first proof of a stamp, in an aggregation. In a damaged document, `proofs` may be any value. */
const firstProof = { $cond: [{ $isArray: '$proofs' }, { $arrayElemAt: ['$proofs', 0] }, null] };
/** A member of the first proof. Documents of version 0.2.0 have the members of their only proof at the top level. */
const ofFirstProof = (member: string) => ({ $let: { vars: { proof: firstProof }, in: { $ifNull: [`$$proof.${member}`, `$${member}`] } } });

const grouping = {
  $group: {
    _id: {
      kind: '$caller.kind',
      product: '$caller.product',
      provider: ofFirstProof('provider'),
      isQualified: ofFirstProof('isQualified'),
      batch: ofFirstProof('batch'),
    },
    stamps: { $sum: 1 },
  },
};

export type StampCounts = ReturnType<typeof createStampCounts>;

/** Counts the stamps whose ids were made in a span of time. `batches` has the provider of the stamps that are leaves. */
export function createStampCounts(db: Db, batches: Pick<BatchStore, 'findClaims'>) {
  const stamps: Collection<StampDocument> = db.collection('stamps');

  async function readGroups(fromMs: number, toMs: number, limit: number | undefined): Promise<Group[]> {
    const range = { $match: { _id: { $gte: firstIdAt(fromMs), $lt: firstIdAt(toMs) } } };
    const pipeline = [range, ...(limit === undefined ? [] : [{ $limit: limit + 1 }]), grouping];
    return inStore(() => stamps.aggregate<Group>(pipeline, { maxTimeMS }).toArray());
  }

  /** Returns when the id of the first stamp in a span of time was made, or undefined if the span has no stamp. */
  async function firstStampAfter(fromMs: number, toMs: number): Promise<number | undefined> {
    const range = { _id: { $gte: firstIdAt(fromMs), $lt: firstIdAt(toMs) } };
    const first = await inStore(() => stamps.findOne(range, { projection: { _id: 1 }, sort: { _id: 1 }, maxTimeMS }));
    return first === null ? undefined : timeOfId(first._id);
  }

  async function countGroups(groups: readonly Group[]): Promise<PeriodCounts> {
    const batchIdOf = ({ _id: { batch } }: Group) => (batch ? (batch as UUID).toString() : '');
    const claims = await batches.findClaims(groups.map(batchIdOf).filter((id) => id !== ''));
    const products: Record<string, number> = {};
    const series: Record<string, { stamps: number }> = {};
    let total = 0;
    for (const group of groups) {
      const { provider, isQualified } = claims.get(batchIdOf(group)) ?? group._id;
      const { product, kind } = group._id;
      const key = keyOfSeries({
        callerKind: (typeof kind === 'string' ? kind : 'internal') as CallerKind,
        isQualified: isQualified === true,
        provider: typeof provider === 'string' ? provider : '',
      });
      series[key] = { stamps: (series[key]?.stamps ?? 0) + group.stamps };
      if (typeof product === 'string') products[keyOfName(product)] = (products[keyOfName(product)] ?? 0) + group.stamps;
      total += group.stamps;
    }
    return { done: { stamps: total }, products, series };
  }

  return {
    count: async (fromMs: number, toMs: number): Promise<PeriodCounts> => {
      const parts: PeriodCounts[] = [];
      for (let startMs = await firstStampAfter(fromMs, toMs); startMs !== undefined; ) {
        const endMs = Math.min(startMs + spanMs, toMs);
        parts.push(await countGroups(await readGroups(startMs, endMs, undefined)));
        startMs = await firstStampAfter(endMs, toMs);
      }
      return mergeCounts(parts);
    },
    /** Like `count`, but resolves to undefined if there are more than `limit` stamps. */
    countUpTo: async (limit: number, fromMs: number, toMs: number): Promise<PeriodCounts | undefined> => {
      const counted = await countGroups(await readGroups(fromMs, toMs, limit));
      return (counted.done?.stamps ?? 0) > limit ? undefined : counted;
    },
  };
}
