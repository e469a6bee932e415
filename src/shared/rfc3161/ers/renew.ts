import { Refusal } from '../refusal/refusal.ts';
import type { MessageImprint } from '../tsp/imprint.ts';
import { addTimeStamp, hashTreeRenewalOf, timeStampRenewalOf } from './encode.ts';

/** This module renews many records with one token: the token covers a tree in which each record is a group (RFC 4998 §5.2). */

/** A later token that is added to a record. */
interface RecordRenewal {
  /** The hashes on the path from the group of this record to the root of the tree. Each hash becomes a list of its own. */
  readonly path: readonly Buffer[];
  /** DER TimeStampToken. */
  readonly token: Buffer;
  /** The document's digest in another algorithm, for a hash-tree renewal. Undefined: this is a time-stamp renewal. */
  readonly newDigest?: MessageImprint | undefined;
}

const renewalOf = (record: Buffer, newDigest: MessageImprint | undefined) =>
  newDigest === undefined ? timeStampRenewalOf(record) : hashTreeRenewalOf(record, newDigest);

/** Returns the hash that a renewal of a record must cover, or undefined if the bytes are not a record. Never throws, whatever the bytes are. */
export const renewalImprintOf = (record: Buffer, newDigest?: MessageImprint): MessageImprint | undefined =>
  unlessRefused(() => renewalOf(record, newDigest).imprint);

/**
 * Adds renewals to a record. Returns undefined if a part is not a record or not a token. Never throws, whatever the bytes are.
 *
 * @param renewals the renewals in order of time
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
