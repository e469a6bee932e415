import type { Db, Document } from 'mongodb';
import type { CallerKind } from '../domain/stamp.ts';
import { firstIdAt } from '../domain/stamp.ts';
import type { BatchStore } from './batches.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';

/** Stored stamps with the same values in all counted fields. */
export interface StampGroup {
  readonly callerKind: CallerKind;
  readonly isQualified: boolean;
  readonly provider: string;
  /** The product of the stamps, named as in `storedProductOf`. */
  readonly product: string | undefined;
  readonly stamps: number;
}

/** The maximum number of stamps that one query counts. It is small, so that no query takes longer than `maxTimeMS`. */
const mostPerQuery = 10_000;

/** Counts the stored stamps whose ids were made in a span of time. A group may occur several times. `batches` has the providers of leaves. */
export async function countStamps(db: Db, batches: BatchStore, fromMs: number, toMs: number): Promise<StampGroup[]> {
  const found: Document[] = [];
  for (let afterId = firstIdAt(fromMs); afterId; ) {
    const groups = await inStore(() =>
      db
        .collection('stamps')
        .aggregate(grouping(afterId, firstIdAt(toMs)), { maxTimeMS })
        .toArray(),
    );
    found.push(...groups);
    const stamps = groups.reduce((sum, group) => sum + group.stamps, 0);
    afterId = stamps < mostPerQuery ? '' : groups.reduce((last, { lastId }) => (lastId > last ? lastId : last), afterId);
  }
  const batchIdOf = ({ _id: { batch } }: Document): string => (batch ? batch.toString() : '');
  const claims = await batches.findClaims([...new Set(found.map(batchIdOf).filter((id) => id !== ''))]);
  // In a damaged document, each field may have any value.
  return found.map((group) => {
    const { kind, product } = group._id;
    const { provider, isQualified } = claims.get(batchIdOf(group)) ?? group._id;
    return {
      callerKind: typeof kind === 'string' ? (kind as CallerKind) : 'internal',
      isQualified: isQualified === true,
      provider: typeof provider === 'string' ? provider : '',
      product: typeof product === 'string' && product !== '' ? product : undefined,
      stamps: group.stamps,
    };
  });
}

/** Groups the first stamps between two ids by caller and first proof. In a damaged document, `proofs` may be any value. */
function grouping(afterId: string, beforeId: string): Document[] {
  const proof = { $cond: [{ $isArray: '$proofs' }, { $arrayElemAt: ['$proofs', 0] }, null] };
  const ofCaller = { kind: '$caller.kind', product: '$caller.product' };
  const ofProof = { provider: '$proof.provider', isQualified: '$proof.isQualified', batch: '$proof.batch' };
  return [
    { $match: { _id: { $gt: afterId, $lt: beforeId } } },
    { $sort: { _id: 1 } },
    { $limit: mostPerQuery },
    { $project: { caller: 1, proof } },
    { $group: { _id: { ...ofCaller, ...ofProof }, stamps: { $sum: 1 }, lastId: { $max: '$_id' } } },
  ];
}
