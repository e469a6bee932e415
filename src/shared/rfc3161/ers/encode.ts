import { nodeOf } from '../../proof/hash-tree.js';
import { contextConstructed, integer, octetString, sequence } from '../asn1/der-writer.ts';
import { TAG } from '../asn1/tags.ts';
import type { Imprint } from '../tsp/imprint.ts';
import type { DigestAlgorithm } from '../x509/algorithms.ts';
import { digestData, digestIdentifier } from '../x509/digests.ts';
import { chainDigestOf, tokenDigestOf } from './coverage.ts';
import type { ReducedHashtree } from './hash-tree.ts';
import { type ArchiveTimeStampChain, readEvidenceRecord } from './record.ts';

/** Writes and renews evidence records (RFC 4998 §4.2, §5.2). */

/** ArchiveTimeStamp as plain data. The token’s imprint contains the algorithm, so it is not written again (RFC 4998 §4.1). */
export interface ArchiveTimeStampParts {
  /** Undefined: the token covers the hash itself. */
  readonly reducedHashtree?: ReducedHashtree | undefined;
  /** DER TimeStampToken. */
  readonly token: Buffer;
}

function encodeTimeStamp({ reducedHashtree, token }: ArchiveTimeStampParts): Buffer {
  const lists = reducedHashtree?.map(encodeList);
  return sequence(...(lists === undefined ? [] : [contextConstructed(2, ...lists)]), token);
}

/** PartialHashtree. Batches have one hash in each list, thousands at a time. */
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

/** An EvidenceRecord with one token. `algorithm`: that of the token’s imprint. */
export function encodeEvidenceRecord(algorithm: DigestAlgorithm, timeStamp: ArchiveTimeStampParts): Buffer {
  return encodeWith([algorithm], [sequence(encodeTimeStamp(timeStamp))]);
}

/** What the next token of a record must cover. */
export interface Renewal {
  readonly algorithm: DigestAlgorithm;
  /** The first list of its hash tree. If it has a single hash, the token may cover that hash directly. */
  readonly firstList: readonly Buffer[];
  /** The token’s imprint if the record is renewed alone: the hash of `firstList`. */
  readonly imprint: Imprint;
}

const renewalOver = (algorithm: DigestAlgorithm, firstList: readonly Buffer[]): Renewal => ({
  algorithm,
  firstList,
  imprint: { algorithm, digest: nodeOf((octets) => digestData(algorithm, octets), firstList) },
});

/**
 * Time-stamp renewal: it must cover the hash of the last token (RFC 4998 §5.2). Bouncy Castle requires the hashes of all tokens in the chain.
 *
 * @throws Refusal if the bytes are not a record
 */
export function timeStampRenewalOf(record: Buffer): Renewal {
  const { algorithm, timeStamps } = readEvidenceRecord(record).chains.at(-1)!;
  return renewalOver(
    algorithm,
    timeStamps.map((timeStamp) => tokenDigestOf(algorithm, timeStamp)),
  );
}

/**
 * Hash-tree renewal: a new chain over the record and the document’s digest in the new algorithm (RFC 4998 §5.2).
 *
 * @throws Refusal if the bytes are not a record
 */
export function hashTreeRenewalOf(record: Buffer, { algorithm, digest }: Imprint): Renewal {
  return renewalOver(algorithm, [chainDigestOf(algorithm, digest, readEvidenceRecord(record).chains)]);
}

/**
 * The record with one more token. Existing parts stay unchanged, octet for octet; members without proof value (cryptoInfos, encryptionInfo) are
 * left out.
 *
 * @param place in the last chain (time-stamp renewal), or in a new chain with this algorithm (hash-tree renewal)
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
