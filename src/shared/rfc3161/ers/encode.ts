import { nodeOf } from '../../proof/hash-tree.js';
import { TAG } from '../asn1/der.ts';
import { contextConstructed, integer, octetString, sequence } from '../asn1/der-writer.ts';
import { Refusal } from '../refusal/refusal.ts';
import type { MessageImprint } from '../tsp/imprint.ts';
import type { DigestAlgorithm } from '../x509/algorithms.ts';
import { digestData, digestIdentifier } from '../x509/algorithms.ts';
import { chainDigestOf, tokenDigestOf } from './coverage.ts';
import type { ReducedHashtree } from './hash-tree.ts';
import { type ArchiveTimeStampChain, readEvidenceRecord } from './record.ts';

/** This module writes and renews evidence records (RFC 4998 §4.2, §5.2). */

/** An ArchiveTimeStamp as plain data. The token’s imprint names the hash algorithm, so the algorithm is not written again (RFC 4998 §4.1). */
export interface ArchiveTimeStampParts {
  /** Undefined: there is no tree, because the imprint of the token is the covered hash itself. */
  readonly reducedHashtree?: ReducedHashtree | undefined;
  /** DER TimeStampToken. */
  readonly token: Buffer;
}

function encodeTimeStamp({ reducedHashtree, token }: ArchiveTimeStampParts): Buffer {
  const lists = reducedHashtree?.map(encodeList);
  return sequence(...(lists === undefined ? [] : [contextConstructed(2, ...lists)]), token);
}

/** Writes a PartialHashtree. Lists with one hash are written fast, because batches have thousands of them. */
function encodeList(list: readonly Buffer[]): Buffer {
  const [only] = list;
  if (list.length > 1 || only === undefined || only.length > 64)
    return sequence(...[...list].sort(Buffer.compare).map((hash) => octetString(hash)));
  const out = Buffer.allocUnsafe(only.length + 4);
  out[0] = TAG.sequence;
  out[1] = only.length + 2;
  out[2] = TAG.octetString;
  out[3] = only.length;
  out.set(only, 4);
  return out;
}

const encodeWith = (algorithms: readonly DigestAlgorithm[], chains: readonly Buffer[]): Buffer =>
  sequence(integer(1), sequence(...[...new Set(algorithms)].map(digestIdentifier)), sequence(...chains));

/** Writes an EvidenceRecord with one token. `algorithm`: the algorithm of the token’s imprint. */
export function encodeEvidenceRecord(algorithm: DigestAlgorithm, timeStamp: ArchiveTimeStampParts): Buffer {
  return encodeWith([algorithm], [sequence(encodeTimeStamp(timeStamp))]);
}

/** The hashes that the next token of a record must cover. */
export interface RenewalHashes {
  readonly algorithm: DigestAlgorithm;
  /** The first list of the token's hash tree. If it has a single hash, the token may cover this hash without a tree. */
  readonly firstList: readonly Buffer[];
  /** The imprint of the token if the token renews only this record: the hash of `firstList`. */
  readonly imprint: MessageImprint;
}

const renewalOver = (algorithm: DigestAlgorithm, firstList: readonly Buffer[]): RenewalHashes => ({
  algorithm,
  firstList,
  imprint: { algorithm, digest: nodeOf((octets) => digestData(algorithm, octets), firstList) },
});

/**
 * Returns the hashes for a time-stamp renewal of a record. The renewal must cover the hash of the last token (RFC 4998 §5.2). Bouncy Castle requires
 * the hashes of all tokens in the chain, so `firstList` has all of them.
 *
 * @throws Refusal if the bytes are not a record
 */
export function timeStampRenewalOf(record: Buffer): RenewalHashes {
  const { algorithm, timeStamps } = readEvidenceRecord(record).chains.at(-1)!;
  return renewalOver(
    algorithm,
    timeStamps.map((timeStamp) => tokenDigestOf(algorithm, timeStamp)),
  );
}

/**
 * Returns the hash for a hash-tree renewal: a new chain that covers the record, and the document’s digest in a new algorithm (RFC 4998 §5.2).
 *
 * @throws Refusal if the bytes are not a record
 */
export function hashTreeRenewalOf(record: Buffer, { algorithm, digest }: MessageImprint): RenewalHashes {
  return renewalOver(algorithm, [chainDigestOf(algorithm, digest, readEvidenceRecord(record).chains)]);
}

/**
 * Adds one token to a record. The octets of existing chains do not change. Members that prove nothing (cryptoInfos, encryptionInfo) are left out.
 *
 * @param place adds the token to the last chain (time-stamp renewal), or to a new chain with this algorithm (hash-tree renewal)
 * @throws Refusal if the bytes are not a record
 */
export function addTimeStamp(record: Buffer, timeStamp: ArchiveTimeStampParts, place: 'last_chain' | DigestAlgorithm): Buffer {
  const { chains } = readEvidenceRecord(record);
  const algorithms = chains.map(({ algorithm }) => algorithm);
  const encoded = encodeTimeStamp(timeStamp);
  if (place !== 'last_chain') return encodeWith([...algorithms, place], [...chains.map(({ der }) => der), sequence(encoded)]);
  return encodeWith(algorithms, [...chains.slice(0, -1).map(({ der }) => der), appended(chains.at(-1)!, encoded)]);
}

function appended({ timeStamps }: ArchiveTimeStampChain, encoded: Buffer): Buffer {
  return sequence(...timeStamps.map(({ der }) => der), encoded);
}

// Many records are renewed with one token: the token covers a tree in which each record is a group (RFC 4998 §5.2).

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
