import { hash } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import type { Evidence } from '../../workers/providers/provider.ts';
import type { Caller, StampedReply, StampItem } from '../queue/stamp-job.ts';
import { maxTimeMS } from './connection.ts';
import { duplicatePositions, inStore } from './errors.ts';

/** Where the content of a sealed stamp lies; the secret of its capability URL is stored as a hash only (S11). */
export interface SealedRef {
  readonly contentId: string;
  readonly secretSha256: string;
  readonly bytes: number;
}

/** A stamp as it is stored. `_id` is the token id: a UUID version 7, so that its order is time order (S7). */
export interface StampRecord {
  readonly _id: string;
  readonly issuedAt: string;
  readonly hash: string;
  readonly tier: 'basic' | 'plus' | 'sealed';
  readonly token: string;
  /** SHA-256 of `token`, hex; by it a raw token is found again. Absent for mock tokens, which know their id. */
  readonly tokenDigest?: string | undefined;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly caller: Caller;
  readonly acceptedAt: Date;
  readonly requestId: string;
  /** JSON: names that a caller chooses are no field names of ours. */
  readonly metadata?: string | undefined;
  readonly paymentClaim?: string | undefined;
  readonly sealed?: SealedRef | undefined;
  /** DER of the TimeStampReq and TimeStampResp of an RFC 3161 stamp, byte for byte. */
  readonly tsq?: Binary | undefined;
  readonly tsr?: Binary | undefined;
}

/** What of a stamp is counted. */
export type CountedStamp = Pick<StampRecord, '_id' | 'issuedAt' | 'provider' | 'isQualified' | 'caller'>;
const countedFields = { issuedAt: 1, provider: 1, isQualified: 1, caller: 1 };
const scanPage = 1_000;

const tokenDigestOf = (token: string): string => hash('sha256', token, 'hex');

/** The record that an accepted item and its evidence make. */
export function stampRecordOf(item: StampItem, evidence: Evidence): StampRecord {
  return {
    _id: item.tokenId,
    issuedAt: evidence.issuedAt,
    hash: item.hash,
    tier: item.tier,
    token: evidence.token,
    tokenDigest: evidence.exchange && tokenDigestOf(evidence.token),
    provider: evidence.provider,
    isQualified: evidence.isQualified,
    caller: item.caller,
    acceptedAt: new Date(item.acceptedAt),
    requestId: item.requestId,
    metadata: item.metadata && JSON.stringify(item.metadata),
    paymentClaim: item.paymentClaim,
    sealed: item.sealed,
    tsq: evidence.exchange && new Binary(evidence.exchange.tsq),
    tsr: evidence.exchange && new Binary(evidence.exchange.tsr),
  };
}

/** What a worker answers, or the store says later, of a stamp that is stored. */
export const stampReplyOf = ({ _id, issuedAt, token, provider, isQualified }: StampRecord): StampedReply => ({
  outcome: 'stamped',
  tokenId: _id,
  issuedAt,
  token,
  provider,
  isQualified,
});

export interface StampStore {
  /**
   * Writes what is not there yet and returns what is stored under each id, in the order given: whoever wrote first wins.
   * `added` are the records that this call wrote.
   */
  insertOnce(records: readonly StampRecord[]): Promise<{ stored: StampRecord[]; added: StampRecord[] }>;
  find(tokenId: string): Promise<StampRecord | null>;
  findMany(tokenIds: readonly string[]): Promise<StampRecord[]>;
  /** The id of the stamp that holds this RFC 3161 token (base64), or null. */
  findIdByToken(token: string): Promise<string | null>;
  /** A product's stamps, newest first (S12). */
  listByProduct(product: string, page: { limit: number; offset: number }): Promise<StampRecord[]>;
  /** Every stamp, oldest first, for maintenance. @throws ServiceError `store_unavailable` */
  scan(): AsyncIterable<CountedStamp>;
}

export function createStampStore(db: Db): StampStore {
  const stamps: Collection<StampRecord> = db.collection('stamps');

  const findMany = (tokenIds: readonly string[]) => inStore(() => stamps.find({ _id: { $in: [...tokenIds] } }, { maxTimeMS }).toArray());

  return {
    insertOnce: (records) =>
      inStore(async () => {
        try {
          await stamps.insertMany([...records], { ordered: false });
          return { stored: [...records], added: [...records] };
        } catch (error) {
          const duplicates = duplicatePositions(error);
          if (!duplicates) throw error;
          const taken = await findMany(duplicates.map((position) => records[position]!._id));
          const takenById = new Map(taken.map((record) => [record._id, record]));
          return {
            stored: records.map((record) => takenById.get(record._id) ?? record),
            added: records.filter((_, position) => !duplicates.includes(position)),
          };
        }
      }),
    find: (tokenId) => inStore(() => stamps.findOne({ _id: tokenId }, { maxTimeMS })),
    findMany,
    findIdByToken: (token) =>
      inStore(async () => {
        const found = await stamps.findOne({ tokenDigest: tokenDigestOf(token) }, { projection: { _id: 1 }, maxTimeMS });
        return found?._id ?? null;
      }),
    listByProduct: (product, { limit, offset }) =>
      inStore(() =>
        stamps
          .find({ 'caller.product': product }, { projection: { token: 0, tsq: 0, tsr: 0, metadata: 0 }, maxTimeMS })
          .hint({ _id: 1 })
          .sort({ _id: -1 })
          .skip(offset)
          .limit(limit)
          .toArray(),
      ),
    scan: async function* () {
      for (let after = ''; ; ) {
        const page = await inStore(() =>
          stamps
            .find({ _id: { $gt: after } }, { projection: countedFields, maxTimeMS })
            .hint({ _id: 1 })
            .sort({ _id: 1 })
            .limit(scanPage)
            .toArray(),
        );
        yield* page;
        const last = page.at(-1);
        if (!last) return;
        after = last._id;
      }
    },
  };
}
