import type { Listing } from '../../shared/store/listings.ts';
import type { ListIndex } from '../../shared/trust/lists/index.ts';
import type { KeepListing } from './rfc3161.ts';

/** Keeps with the evidence on which list a qualified token rests: once for all tokens of a signer under a list, before the first stamp is answered. */
export function createListingKeeper(insertOnce: (listing: Listing) => Promise<void>, lists: () => ListIndex): KeepListing {
  const kept = new Set<string>();
  return async ({ signer, genTime }, { status, listed }) => {
    if (status !== 'qualified' || !listed) return;
    const key = `${signer.fingerprint} ${listed.listSha256}`;
    if (kept.has(key)) return;
    const { atProofOfExistence: _, ...rest } = listed;
    await insertOnce({ signer: signer.fingerprint, listed: rest, listOfLists: lists().listOfLists, firstAt: genTime });
    kept.add(key);
  };
}
