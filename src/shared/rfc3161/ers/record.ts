import { contentsOf, type Der, type DerLimits, derOf, membersOf, parseDer, TAG, TOKEN_LIMITS } from '../asn1/der.ts';
import { smallIntegerOf } from '../asn1/der-values.ts';
import { refuse } from '../refusal/refusal.ts';
import { IMPRINT_CODES } from '../tsp/imprint.ts';
import { type ReadToken, readToken } from '../tsp/verify.ts';
import { algorithmIdentifierOf, DIGEST_OCTETS, type DigestAlgorithm, digestOf } from '../x509/algorithms.ts';
import type { ReducedHashtree } from './hash-tree.ts';

/** A parsed EvidenceRecord (RFC 4998 §3.1). Its proofs are not verified yet. */
export interface EvidenceRecord {
  readonly der: Buffer;
  readonly chains: readonly [ArchiveTimeStampChain, ...ArchiveTimeStampChain[]];
  /** Members that are ignored: cryptoInfos, encryptionInfo, attributes. */
  readonly hasInformation: boolean;
}

/** A chain of time-stamps that all use the same hash algorithm (RFC 4998 §5.1). */
export interface ArchiveTimeStampChain {
  readonly algorithm: DigestAlgorithm;
  readonly timeStamps: readonly [ArchiveTimeStamp, ...ArchiveTimeStamp[]];
  readonly der: Buffer;
}

/** An ArchiveTimeStamp (RFC 4998 §4.1). */
export interface ArchiveTimeStamp {
  readonly algorithm: DigestAlgorithm;
  /** Undefined: there is no tree, because the imprint of the token is the covered hash itself. */
  readonly reducedHashtree: ReducedHashtree | undefined;
  readonly token: ReadToken;
  readonly hasAttributes: boolean;
  readonly der: Buffer;
}

/** The limits for a record. A token begins four levels below the top of a record. */
const RECORD_LIMITS: DerLimits = { ...TOKEN_LIMITS, maxDepth: TOKEN_LIMITS.maxDepth + 4 };
/** The maximum number of tokens in a record. One token each year for 32 years is enough. */
const MAX_TIME_STAMPS = 32;
/** The maximum number of hashes in all lists of a record. */
const MAX_HASHES = 8_192;
/** The maximum number of certificates in all tokens of a record, as in a single token. Each may have to be parsed for every trust store. */
const MAX_CERTIFICATES = 256;
/** The maximum number of levels in a hash tree. A tree with so many levels has more leaves than there will ever be stamps. */
const MAX_LEVELS = 64;

interface Allowance {
  timeStamps: number;
  hashes: number;
  certificates: number;
}

function spend(allowance: Allowance, what: keyof Allowance, count: number): void {
  allowance[what] -= count;
  if (allowance[what] < 0) refuse('der_too_large', 'The evidence record has more tokens, hashes or certificates than any document needs.');
}

/**
 * Reads the DER of an EvidenceRecord: at most 1 MiB, 32 tokens, 256 certificates, 8 192 hashes and 64 levels of a hash tree.
 *
 * @throws Refusal
 */
export function readEvidenceRecord(bytes: Buffer): EvidenceRecord {
  const members = membersOf(parseDer(bytes, RECORD_LIMITS), 'EvidenceRecord');
  const version = smallIntegerOf(members.take(TAG.integer, 'version'));
  if (version !== 1) refuse('evidence_version', `The evidence record is of version ${version}.`);
  const announced = new Set(elementsOf(members.take(TAG.sequence, 'digestAlgorithms'), 'digestAlgorithms').map((one) => algorithmOf(one)));
  const cryptoInfos = members.optional(TAG.contextConstructed(0));
  const encryptionInfo = members.optional(TAG.contextConstructed(1));
  const sequence = elementsOf(members.take(TAG.sequence, 'archiveTimeStampSequence'), 'archiveTimeStampSequence');
  members.end();
  const allowance: Allowance = { timeStamps: MAX_TIME_STAMPS, hashes: MAX_HASHES, certificates: MAX_CERTIFICATES };
  const chains = sequence.map((chain) => chainOf(chain, announced, allowance));
  const hasAttributes = chains.some(({ timeStamps }) => timeStamps.some((one) => one.hasAttributes));
  return {
    der: bytes,
    chains: chains as [ArchiveTimeStampChain, ...ArchiveTimeStampChain[]],
    hasInformation: cryptoInfos !== undefined || encryptionInfo !== undefined || hasAttributes,
  };
}

/** Returns the DER of the first token in a record, without verifying it. @throws Refusal if the bytes are not a record */
export const firstTokenOf = (record: Buffer): Buffer => derOf(readEvidenceRecord(record).chains[0].timeStamps[0].token.opened.contentInfo);

/** Returns the elements of a SEQUENCE OF, which must have at least one element (refusal 53). */
function elementsOf(element: Der, name: string, tag: number = TAG.sequence): readonly Der[] {
  if (element.tag !== tag) refuse('der_malformed', `${name} is of another type.`);
  if (element.children.length === 0) refuse('evidence_list_empty', `${name} is empty.`);
  return element.children;
}

function algorithmOf(element: Der, tag: number = TAG.sequence): DigestAlgorithm {
  const name = 'a digest algorithm of the evidence record';
  return digestOf(algorithmIdentifierOf(element, name, tag), name, IMPRINT_CODES);
}

function chainOf(element: Der, announced: ReadonlySet<DigestAlgorithm>, allowance: Allowance): ArchiveTimeStampChain {
  const elements = elementsOf(element, 'an ArchiveTimeStampChain');
  spend(allowance, 'timeStamps', elements.length);
  const timeStamps = elements.map((one) => timeStampOf(one, allowance));
  const { algorithm } = timeStamps[0]!;
  const other = timeStamps.find((one) => one.algorithm !== algorithm);
  if (other !== undefined) refuse('evidence_algorithm_mismatch', `A chain is of ${algorithm} and of ${other.algorithm}.`);
  if (!announced.has(algorithm)) refuse('evidence_algorithm_mismatch', `${algorithm} is not among the digest algorithms of the record.`);
  return { algorithm, timeStamps: timeStamps as [ArchiveTimeStamp, ...ArchiveTimeStamp[]], der: derOf(element) };
}

function timeStampOf(element: Der, allowance: Allowance): ArchiveTimeStamp {
  const members = membersOf(element, 'ArchiveTimeStamp');
  const digestAlgorithm = members.optional(TAG.contextConstructed(0));
  const attributes = members.optional(TAG.contextConstructed(1));
  const tree = members.optional(TAG.contextConstructed(2));
  const contentInfo = members.take(TAG.sequence, 'timeStamp');
  members.end();
  const token = readToken({ contentInfo, bytes: derOf(contentInfo), grantedWithMods: false, rewritten: [] }, undefined);
  spend(allowance, 'certificates', token.signed.certificates.length);
  const { algorithm } = token.tstInfo.imprint;
  if (digestAlgorithm !== undefined && algorithmOf(digestAlgorithm, digestAlgorithm.tag) !== algorithm) {
    refuse('evidence_algorithm_mismatch', `A hash tree is of another algorithm than the ${algorithm} of its token.`);
  }
  const reducedHashtree = tree && reducedHashtreeOf(tree, DIGEST_OCTETS[algorithm], allowance);
  return { algorithm, reducedHashtree, token, hasAttributes: attributes !== undefined, der: derOf(element) };
}

function reducedHashtreeOf(element: Der, octets: number, allowance: Allowance): ReducedHashtree {
  const lists = elementsOf(element, 'reducedHashtree', TAG.contextConstructed(2));
  if (lists.length > MAX_LEVELS) refuse('evidence_too_deep', `A hash tree has ${lists.length} levels; ${MAX_LEVELS} are the most.`);
  return lists.map((list) => {
    const hashes = elementsOf(list, 'a PartialHashtree');
    spend(allowance, 'hashes', hashes.length);
    return hashes.map((hash) => {
      if (hash.tag !== TAG.octetString) refuse('der_malformed', 'A hash of a PartialHashtree is not an OCTET STRING.');
      const digest = contentsOf(hash);
      if (digest.length !== octets) refuse('evidence_hash_length', `A hash has ${digest.length} octets instead of ${octets}.`);
      return digest;
    });
  });
}
