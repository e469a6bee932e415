import { rootOf } from '../../proof/hash-tree.js';
import { derOf } from '../asn1/der.ts';
import { sequence } from '../asn1/der-writer.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { refuse } from '../refusal/refusal.ts';
import type { MessageImprint } from '../tsp/imprint.ts';
import type { DigestAlgorithm } from '../x509/algorithms.ts';
import { digestData } from '../x509/algorithms.ts';
import type { ArchiveTimeStamp, ArchiveTimeStampChain, EvidenceRecord } from './record.ts';

/** The result of comparing the hashes in a record (RFC 4998 §4.3, §5.3). Signatures are not checked. */
export interface Coverage {
  /** The imprint of the record, in the algorithm of its first chain. */
  readonly imprint: MessageImprint;
  /** The ArchiveTimeStamps that were compared, in order of time. */
  readonly timeStamps: readonly ArchiveTimeStamp[];
  /** True if some chains were left out, because the document’s digest in their algorithm was not given. */
  readonly hasLaterChains: boolean;
}

/**
 * Follows a record from the document to its last token. A chain with another algorithm than the first chain needs the document’s digest in this
 * algorithm. Without the digest, the record is judged as if it ended before this chain.
 *
 * @param digests the digests of the document, one for each known algorithm. If empty, the imprint comes from the record itself.
 * @throws Refusal (refusals 15, 16, 50, 51, 57)
 */
export function coverageOf({ chains }: EvidenceRecord, digests: readonly MessageImprint[]): Coverage {
  const imprint = initialImprintOf(chains[0], digests);
  const known = new Map([...digests, imprint].map(({ algorithm, digest }) => [algorithm, digest]));
  const unknown = chains.findIndex(({ algorithm }) => !known.has(algorithm));
  const followed = unknown === -1 ? chains : chains.slice(0, unknown);
  for (const [i, { algorithm, timeStamps }] of followed.entries()) {
    const data = known.get(algorithm)!;
    const [first, ...renewals] = timeStamps;
    if (i === 0) checkCovers(first, data, first.reducedHashtree ? 'evidence_imprint_missing' : 'imprint_mismatch');
    else checkCovers(first, chainDigestOf(algorithm, data, chains.slice(0, i)), 'evidence_link_mismatch');
    for (const [j, renewal] of renewals.entries()) checkCovers(renewal, tokenDigestOf(algorithm, timeStamps[j]!), 'evidence_link_mismatch');
  }
  const timeStamps = followed.flatMap((chain) => chain.timeStamps);
  return { imprint, timeStamps, hasLaterChains: followed.length < chains.length };
}

function initialImprintOf(
  { algorithm, timeStamps: [{ reducedHashtree, token }] }: ArchiveTimeStampChain,
  digests: readonly MessageImprint[],
) {
  const given = digests.find((one) => one.algorithm === algorithm);
  if (given !== undefined) return given;
  if (digests.length > 0) refuse('imprint_algorithm_mismatch', `The record is of ${algorithm}.`);
  const [only, another] = reducedHashtree?.[0] ?? [token.tstInfo.imprint.digest];
  if (another !== undefined) refuse('evidence_hash_needed', 'The first list of the record has several hashes.');
  return { algorithm, digest: only! };
}

/** Checks that an ArchiveTimeStamp covers a digest (RFC 4998 §4.3). `missing`: the refusal code if it does not. */
function checkCovers({ algorithm, reducedHashtree, token }: ArchiveTimeStamp, digest: Buffer, missing: RefusalCode): void {
  const { imprint } = token.tstInfo;
  const covered = reducedHashtree?.[0] ?? [imprint.digest];
  if (!covered.some((hash) => hash.equals(digest))) refuse(missing, 'An ArchiveTimeStamp covers other hashes.');
  if (reducedHashtree !== undefined && !rootOf((octets) => digestData(algorithm, octets), reducedHashtree).equals(imprint.digest)) {
    refuse('evidence_root_mismatch', 'The token is for another hash than the root of its hash tree.');
  }
}

/** The digest that a time-stamp renewal covers: the hash of the timeStamp field of the previous ArchiveTimeStamp (RFC 4998 §5.2). */
export function tokenDigestOf(algorithm: DigestAlgorithm, { token }: ArchiveTimeStamp): Buffer {
  return digestData(algorithm, derOf(token.opened.contentInfo));
}

/**
 * The digest that a hash-tree renewal covers: the hash of two digests, that of the document (`data`) and that of the earlier chains as an
 * ArchiveTimeStampSequence (RFC 4998 §5.2).
 */
export function chainDigestOf(algorithm: DigestAlgorithm, data: Buffer, before: readonly ArchiveTimeStampChain[]): Buffer {
  const older = digestData(algorithm, sequence(...before.map(({ der }) => der)));
  return digestData(algorithm, Buffer.concat([data, older]));
}
