import type { Collection, Db } from 'mongodb';
import type { ListedService } from '../domain/qualification.ts';
import { inStore, insertIfAbsent, maxTimeMS } from './connection.ts';

/** On which list a TSA's qualified tokens rest: one record for all tokens of a signer under a list. */
export interface Listing {
  /** SHA-256 of the signer's certificate, in hexadecimal. */
  readonly signer: string;
  readonly listed: Omit<ListedService, 'atProofOfExistence'>;
  /** The list of lists that led to this list; null if the list was configured alone. */
  readonly listOfLists: { readonly number: number; readonly sha256: string } | null;
  /** genTime of the first of these tokens. */
  readonly firstAt: Date;
}

const atOnceMs = 60_000;

interface ListingDocument extends Listing {
  readonly _id: string;
}

/** Keeps for each signer the lists under which its stamps were qualified, as evidence for the time after a list has changed. */
export function createListingStore(db: Db) {
  const listings: Collection<ListingDocument> = db.collection('listings');
  return {
    insertOnce: async (listing: Listing): Promise<void> => {
      await inStore(() => insertIfAbsent(listings, { _id: `${listing.signer}:${listing.listed.listSha256}`, ...listing }));
    },
    /** Finds the listing under which a token of this signer and time was made. */
    findAt: async (signer: string, genTime: Date): Promise<Listing | undefined> => {
      // Tokens that were made at the same moment may be kept in another order.
      const until = new Date(genTime.getTime() + atOnceMs);
      const found = listings
        .find({ signer, firstAt: { $lte: until } }, { maxTimeMS })
        .sort({ firstAt: -1 })
        .limit(1);
      return (await inStore(() => found.toArray()))[0];
    },
  };
}
