import type { Collection, Db } from 'mongodb';
import { leafMarksOf } from '../domain/evidence.ts';
import type { BatchStore } from './batches.ts';
import type { CertificateSetStore } from './certificate-sets.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertNew } from './insert.ts';
import type { RenewalStore } from './renewals.ts';
import {
  batchIdsIn,
  certificateSetIdsIn,
  othersOf,
  type StampDocument,
  type StampSummary,
  type StoredStamp,
  stampDocumentOf,
  stampOf,
  summaryFields,
  summaryOf,
} from './stamp-document.ts';
import { renewalIdsIn } from './stored-evidence.ts';
import { textDigestOf } from './stored-proof.ts';

export type { SealedRef, StampSummary, StoredStamp } from './stamp-document.ts';

/** Selects a page in the list of a product's stamps. `imprints`: only stamps of SHA-256 (the default), or all. */
interface ProductPage {
  readonly imprints?: 'sha256' | 'all' | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A stored stamp, and whether this call has added it. */
export interface InsertedStamp {
  readonly stored: StoredStamp;
  readonly isNew: boolean;
}

export type StampStore = ReturnType<typeof createStampStore>;

/** Stores stamps. `batches`, `renewals` and `certificateSets` store the parts that several stamps share. */
export function createStampStore(
  db: Db,
  batches: Omit<BatchStore, 'insertOnce'>,
  renewals: RenewalStore,
  certificateSets: CertificateSetStore,
) {
  const stamps: Collection<StampDocument> = db.collection('stamps');
  const ofProduct = (product: string, imprints: ProductPage['imprints']) => ({
    'caller.product': imprints === 'all' ? { $in: [product, othersOf(product)] } : product,
  });

  async function stampsOf(documents: readonly StampDocument[]): Promise<StoredStamp[]> {
    const [shared, renewalTokens, sets] = await Promise.all([
      batches.findMany(documents.flatMap(batchIdsIn)),
      renewals.findTokens(documents.flatMap(({ evidence }) => renewalIdsIn(evidence))),
      certificateSets.findMany(documents.flatMap(certificateSetIdsIn)),
    ]);
    return documents.map((document) => stampOf(document, { batches: shared, renewalTokens, certificateSets: sets }));
  }

  async function summariesOf(documents: readonly StampDocument[]): Promise<StampSummary[]> {
    const claims = await batches.findClaims(documents.flatMap(batchIdsIn));
    return documents.map((document) => summaryOf(document, claims));
  }

  const findMany = async (tokenIds: readonly string[]): Promise<StoredStamp[]> =>
    stampsOf(await inStore(() => stamps.find({ _id: { $in: [...tokenIds] } }, { maxTimeMS }).toArray()));

  return {
    /** Writes the stamps that do not exist yet, and returns the stored stamps in the given order. An existing stamp is never changed. */
    insertOnce: (given: readonly StoredStamp[]): Promise<InsertedStamp[]> =>
      inStore(async () => {
        const sets = new Map<string, Buffer>();
        const documents = given.map((stamp) => stampDocumentOf(stamp, sets));
        await certificateSets.insertOnce(sets);
        const duplicates = new Set(await insertNew(db, stamps, documents));
        const taken =
          duplicates.size === 0 ? [] : await findMany(given.flatMap(({ tokenId }, index) => (duplicates.has(index) ? tokenId : [])));
        const takenById = new Map(taken.map((stamp) => [stamp.tokenId, stamp]));
        return given.map((stamp, index) => ({ stored: takenById.get(stamp.tokenId) ?? stamp, isNew: !duplicates.has(index) }));
      }),
    find: async (tokenId: string): Promise<StoredStamp | null> => (await findMany([tokenId]))[0] ?? null,
    findMany,
    /** Finds the id of the stamp with this RFC 3161 token or evidence record (base64). Resolves to null if there is none. */
    findIdByToken: async (token: string): Promise<string | null> => {
      const leaf = leafMarksOf(Buffer.from(token, 'base64'));
      if (!leaf) {
        const found = await inStore(() => stamps.findOne({ tokenDigest: textDigestOf(token) }, { projection: { _id: 1 }, maxTimeMS }));
        return found?._id ?? null;
      }
      // It is not enough to find the stamp of the leaf: its evidence record must have exactly these octets (V2).
      const candidates = await findMany(await batches.findLeaves(leaf));
      return candidates.find(({ proofs }) => proofs.some((proof) => proof.token === token))?.tokenId ?? null;
    },
    /** Lists a product's stamps, newest first. */
    listByProduct: (product: string, { imprints, offset, limit }: ProductPage): Promise<StampSummary[]> =>
      inStore(async () => {
        const options = { projection: summaryFields, maxTimeMS };
        return summariesOf(await stamps.find(ofProduct(product, imprints), options).sort({ _id: -1 }).skip(offset).limit(limit).toArray());
      }),
    /** Counts a product's stamps. The result is at most `limit`. */
    countByProduct: (product: string, imprints: ProductPage['imprints'], limit: number) =>
      inStore(() => stamps.countDocuments(ofProduct(product, imprints), { limit, maxTimeMS })),
  };
}
