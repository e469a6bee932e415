import { Refusal } from '../refusal/refusal.ts';
import type { Imprint } from '../tsp/imprint.ts';
import { addTimeStamp, hashTreeRenewalOf, timeStampRenewalOf } from './encode.ts';

/** Renews many records at once: one token over a tree in which each record is a group (RFC 4998 §5.2). */

/** A later token of a record. */
export interface RecordRenewal {
  /** The hashes from the record's required input to the root of the tree, one for each list. */
  readonly path: readonly Buffer[];
  /** DER TimeStampToken. */
  readonly token: Buffer;
  /** The document's digest in another algorithm: a hash-tree renewal. Undefined: a time-stamp renewal. */
  readonly newDigest?: Imprint | undefined;
}

const renewalOf = (record: Buffer, newDigest: Imprint | undefined) =>
  newDigest === undefined ? timeStampRenewalOf(record) : hashTreeRenewalOf(record, newDigest);

/** What a renewal of a record must cover, as one hash. Undefined: the bytes are not a record. Never throws, whatever the bytes. */
export const renewalImprintOf = (record: Buffer, newDigest?: Imprint): Imprint | undefined =>
  unlessRefused(() => renewalOf(record, newDigest).imprint);

/**
 * The record with its renewals. Undefined: a part is not a record or not a token. Never throws, whatever the bytes.
 *
 * @param renewals in order of time
 */
export const renewEvidenceRecord = (record: Buffer, renewals: readonly RecordRenewal[]): Buffer | undefined =>
  unlessRefused(() =>
    renewals.reduce((current, { path, token, newDigest }) => {
      const { firstList } = renewalOf(current, newDigest);
      const reducedHashtree = [firstList, ...path.map((hash) => [hash])];
      return addTimeStamp(current, { reducedHashtree, token }, newDigest?.algorithm ?? 'last_chain');
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
