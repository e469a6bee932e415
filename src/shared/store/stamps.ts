import type { Collection, Db } from 'mongodb';
import { leafMarksOf } from '../domain/leaf-record.ts';
import type { BatchStore } from './batches.ts';
import type { CertificateSetStore } from './certificate-sets.ts';
import { inOnePage, maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertNew } from './insert.ts';
import { joinReads } from './joined-reads.ts';
import { createProductListing, type ProductPage } from './product-listing.ts';
import type { RenewalStore } from './renewals.ts';
import type { StampDirectory } from './stamp-directory.ts';
import {
  type AnyStamp,
  batchIdsIn,
  certificateSetIdsIn,
  documentOf,
  type StampSummary,
  type StoredStamp,
  stampOf,
  summaryFields,
  summaryOf,
} from './stamp-document.ts';
import { renewalIdsIn } from './stored-evidence.ts';
import { tokenDigestOf } from './stored-proof.ts';

export type { SealedRef, StampSummary, StoredStamp } from './stamp-document.ts';

const scanPage = 1_000;

export interface StampStore {
  /**
   * Writes what is not there yet and returns what is stored under each id, in the order given: whoever wrote first wins.
   * `added` are those that this call wrote.
   */
  insertOnce(stamps: readonly StoredStamp[]): Promise<{ stored: StoredStamp[]; added: StoredStamp[] }>;
  find(tokenId: string): Promise<StoredStamp | null>;
  findMany(tokenIds: readonly string[]): Promise<StoredStamp[]>;
  /** The id of the stamp that holds this RFC 3161 token, or whose record this is (base64), or null. */
  findIdByToken(token: string): Promise<string | null>;
  /** A product's stamps of SHA-256, or of all imprints, newest first (S12). */
  listByProduct(product: string, page: ProductPage): Promise<StampSummary[]>;
  /** Every stamp, oldest first, for maintenance. @throws ServiceError `store_unavailable` */
  scan(): AsyncIterable<StampSummary>;
}

/** `directory`: what is known of where a product's stamps are. `batches`, `renewals`, `certificateSets`: what stamps share. */
export function createStampStore(
  db: Db,
  directory: Pick<StampDirectory, 'marks'>,
  batches: Omit<BatchStore, 'insertOnce'>,
  renewals: Pick<RenewalStore, 'findTokens'>,
  certificateSets: CertificateSetStore,
): StampStore {
  const stamps: Collection<AnyStamp> = db.collection('stamps');
  const listOfProduct = createProductListing(stamps);

  async function stampsOf(documents: readonly AnyStamp[]): Promise<StoredStamp[]> {
    const [shared, renewalTokens, sets] = await Promise.all([
      batches.findMany(documents.flatMap(batchIdsIn)),
      renewals.findTokens(documents.flatMap(({ evidence }) => renewalIdsIn(evidence))),
      certificateSets.findMany(documents.flatMap(certificateSetIdsIn)),
    ]);
    return documents.map((document) => stampOf(document, { batches: shared, renewalTokens, certificateSets: sets }));
  }

  async function summariesOf(documents: readonly AnyStamp[]): Promise<StampSummary[]> {
    const claims = await batches.findClaims(documents.flatMap(batchIdsIn));
    return documents.map((document) => summaryOf(document, claims));
  }

  const findMany = async (tokenIds: readonly string[]) =>
    stampsOf(await inStore(() => stamps.find({ _id: { $in: [...tokenIds] } }, inOnePage).toArray()));

  return {
    insertOnce: (given) =>
      inStore(async () => {
        const sets = new Map<string, Buffer>();
        const documents = given.map((stamp) => documentOf(stamp, sets));
        await certificateSets.insertOnce(sets);
        const duplicates = await insertNew(db, stamps, documents);
        if (duplicates.length === 0) return { stored: [...given], added: [...given] };
        const taken = await findMany(duplicates.map((position) => given[position]!.tokenId));
        const takenById = new Map(taken.map((stamp) => [stamp.tokenId, stamp]));
        return {
          stored: given.map((stamp) => takenById.get(stamp.tokenId) ?? stamp),
          added: given.filter((_, position) => !duplicates.includes(position)),
        };
      }),
    find: joinReads(findMany, ({ tokenId }) => tokenId),
    findMany,
    findIdByToken: async (token) => {
      const leaf = leafMarksOf(Buffer.from(token, 'base64'));
      if (!leaf) {
        const found = await inStore(() => stamps.findOne({ tokenDigest: tokenDigestOf(token) }, { projection: { _id: 1 }, maxTimeMS }));
        return found?._id ?? null;
      }
      // Whose leaf it is is one question; whether these are the octets of its record, another (V2).
      const candidates = await findMany(await batches.findLeaves(leaf));
      return candidates.find(({ proofs }) => proofs.some((proof) => proof.token === token))?.tokenId ?? null;
    },
    listByProduct: (product, page) => inStore(async () => summariesOf(await listOfProduct(await directory.marks(product), product, page))),
    scan: async function* () {
      for (let after = ''; ; ) {
        const page = await inStore(() =>
          stamps
            .find({ _id: { $gt: after } }, { projection: summaryFields, ...inOnePage })
            .hint({ _id: 1 })
            .sort({ _id: 1 })
            .limit(scanPage)
            .toArray(),
        );
        yield* await summariesOf(page);
        const last = page.at(-1);
        if (!last) return;
        after = last._id;
      }
    },
  };
}
