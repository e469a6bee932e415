import { Refusal } from '../refusal/refusal.ts';
import type { Imprint } from '../tsp/imprint.ts';
import { addTimeStamp, timeStampRenewalOf } from './encode.ts';

/** Time-stamp renewals of many records at once: one token over a tree, in which each record is a group (RFC 4998 §5.2). */

/** What a renewal of a record must cover, as one hash. Undefined: the bytes are no record. Never throws, whatever the bytes. */
export const renewalImprintOf = (record: Buffer): Imprint | undefined => unlessRefused(() => timeStampRenewalOf(record).imprint);

/**
 * The record with its renewals. Undefined: something of it is no record, or no token. Never throws, whatever the bytes.
 *
 * @param renewals in the order of time; `path`: the hashes that lead from what the record must cover to the root of the tree, one for each list
 */
export const renewRecord = (
  record: Buffer,
  renewals: readonly { readonly path: readonly Buffer[]; readonly token: Buffer }[],
): Buffer | undefined =>
  unlessRefused(() =>
    renewals.reduce((current, { path, token }) => {
      const { firstList } = timeStampRenewalOf(current);
      return addTimeStamp(current, { reducedHashtree: [firstList, ...path.map((hash) => [hash])], token }, 'last_chain');
    }, record),
  );

function unlessRefused<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
