import { encodeEvidenceRecord, firstTimeStampOf, isEvidenceRecord, renewEvidenceRecord } from '../rfc3161/index.ts';
import { type Batch, digestCharacters, type Imprint, type ImprintAlgorithm, type Proof, type Renewal, type Stamp } from './stamp.ts';

/** The algorithm of a hash-tree renewal: the strongest one that the verifier accepts (S17). */
export const renewalAlgorithm: ImprintAlgorithm = 'sha512';

/** The renewals of a proof in order of time. A leaf shares the renewals of its batch until its first own renewal; all later ones are its own. */
export const renewalsOf = (proof: Proof): readonly Renewal[] => {
  if (proof.kind === 'mock') return [];
  const { renewals = [] } = proof.kind === 'leaf' ? proof.batch : proof;
  if (proof.kind === 'token' || proof.own === undefined) return renewals;
  return [...renewals.slice(0, proof.own.batchRenewals), ...ownRenewalsOf(proof)];
};

/** The renewals that belong to this stamp alone. */
export const ownRenewalsOf = (proof: Proof): readonly Renewal[] => {
  if (proof.kind === 'mock') return [];
  return (proof.kind === 'leaf' ? proof.own?.renewals : proof.renewals) ?? [];
};

/** The document's digests in other algorithms that the renewals of a proof cover. They are needed to verify its evidence record. */
export const newImprintsOf = (proof: Proof): readonly Imprint[] => renewalsOf(proof).flatMap(({ newImprint }) => newImprint ?? []);

/** The hash algorithm of the last hash-tree renewal of a stamp, or of its imprint if there was none. */
export const lastAlgorithmOf = ({ imprint, proofs: [proof] }: Stamp): ImprintAlgorithm =>
  (newImprintsOf(proof).at(-1) ?? imprint).algorithm;

/** The EvidenceRecord of a stamp with all its renewals (RFC 4998), DER. Returns undefined for the mock provider, and if a part is damaged. */
export function evidenceRecordOf({ imprint, proofs: [proof] }: Stamp): Buffer | undefined {
  if (proof.kind === 'mock' || proof.token === '') return undefined;
  const token = Buffer.from(proof.token, 'base64');
  return renewed(proof.kind === 'leaf' ? token : encodeEvidenceRecord(imprint.algorithm, { token }), renewalsOf(proof));
}

/** The EvidenceRecord of a batch's root. The next renewal covers it for all leaves together. Returns undefined if a part is damaged. */
export function batchRecordOf({ root, tst, renewals = [] }: Batch): Buffer | undefined {
  return renewed(encodeEvidenceRecord(root.algorithm, { token: tst }), renewals);
}

function renewed(record: Buffer, renewals: readonly Renewal[]): Buffer | undefined {
  if (renewals.length === 0) return record;
  const readable = renewals.flatMap(({ path, tst, newImprint }) =>
    tst === undefined ? [] : [{ path, token: tst, newDigest: newDigestOf(newImprint) }],
  );
  return readable.length < renewals.length ? undefined : renewEvidenceRecord(record, readable);
}

const newDigestOf = (imprint: Imprint | undefined) =>
  imprint && { algorithm: imprint.algorithm, digest: Buffer.from(imprint.digest, 'hex') };

/**
 * The EvidenceRecord of one leaf of a batch, DER. Each list of its reduced hash tree has one hash: the imprint, then the blind, then the siblings
 * (RFC 4998 §4.2).
 */
export function leafRecordOf({ algorithm, digest }: Imprint, { tst }: Pick<Batch, 'tst'>, path: readonly Buffer[]): Buffer {
  return encodeEvidenceRecord(algorithm, { reducedHashtree: [[Buffer.from(digest, 'hex')], ...path.map((hash) => [hash])], token: tst });
}

/**
 * The number of octets before each hash: tag and length of its list, then tag and length of the hash. Each length takes one octet, because a digest
 * has at most 64 octets.
 */
const listHeadOctets = 4;

/**
 * A fast `leafRecordOf` for many leaves of one batch. Records with the same algorithm and path length differ only in their hashes, so they share a
 * buffer and each call overwrites the hashes of the previous call.
 *
 * @param tst the token of the batch, DER
 * @returns a function that makes one record, base64; `hashes`: digest, blind and siblings up to the root, concatenated, each as long as a
 *   digest of `algorithm`
 */
export function createLeafRecords(tst: Buffer): (algorithm: ImprintAlgorithm, hashes: Buffer) => string {
  const frames = new Map<string, Buffer>();
  return (algorithm, hashes) => {
    const octets = digestCharacters[algorithm] / 2;
    const key = `${algorithm} ${hashes.length}`;
    const frame =
      frames.get(key) ?? leafRecordOf({ algorithm, digest: '00'.repeat(octets) }, { tst }, zeroPath(hashes.length / octets - 1, octets));
    frames.set(key, frame);
    let at = frame.length - tst.length - (hashes.length / octets) * (listHeadOctets + octets);
    for (let from = 0; from < hashes.length; from += 1, at += 1) {
      if (from % octets === 0) at += listHeadOctets;
      frame[at] = hashes[from]!;
    }
    return frame.toString('base64');
  };
}

const zeroPath = (length: number, octets: number): Buffer[] => Array.from({ length }, () => Buffer.alloc(octets));

/** Two values that identify a leaf among all leaves. `tst`: the token of its batch, DER. */
export interface LeafMarks {
  readonly tst: Buffer;
  readonly blind: Buffer;
}

/** Returns the marks of a leaf from its evidence record, renewed or not, or undefined for any other bytes. Never throws. */
export function leafMarksOf(record: Buffer): LeafMarks | undefined {
  const first = isEvidenceRecord(record) ? firstTimeStampOf(record) : undefined;
  const [imprint, blind] = first?.reducedHashtree ?? [];
  return first && imprint?.length === 1 && blind?.length === 1 ? { tst: first.token, blind: blind[0]! } : undefined;
}

/**
 * The path of a leaf in a hash tree (RFC 4998 §4.2) is split into two parts for the store: the crown, which is the upper nodes of the
 * tree, once for all leaves; and for each leaf only its blind and the siblings below the crown.
 */

interface LeafPlace {
  /** The number of the leaf, from 0. */
  readonly index: number;
  readonly leaves: number;
}

/** The lowest level of the crown has at most this many nodes. With SHA-256 the whole crown is at most 8 KB. */
const crownWidth = 128;

const widthAt = (leaves: number, height: number): number => Math.ceil(leaves / 2 ** height);

/** The lowest height at which the tree has at most `most` nodes. */
function heightWith(most: number, leaves: number): number {
  let height = 0;
  while (widthAt(leaves, height) > most) height += 1;
  return height;
}

/** The heights, from `from` up to but not including `to`, at which the path of a leaf has a sibling. A last odd node moves up without a sibling. */
const siblingHeights = ({ index, leaves }: LeafPlace, from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i).filter((height) => siblingAt(index, height) < widthAt(leaves, height));

const siblingAt = (index: number, height: number): number => Math.floor(index / 2 ** height) ^ 1;

/** Returns the crown: all nodes from its lowest level up to the children of the root, concatenated. @param levels all levels, from the leaves up */
export function crownOf(levels: readonly (readonly Buffer[])[]): Buffer {
  const leaves = levels[0]?.length ?? 0;
  return Buffer.concat(levels.slice(heightWith(crownWidth, leaves), heightWith(1, leaves)).flat());
}

/** Returns the part of a path that is stored for each leaf: the blind and the siblings below the crown, concatenated. */
export function lowerPathOf(place: LeafPlace, path: readonly Buffer[]): Buffer {
  const siblings = siblingHeights(place, 0, heightWith(crownWidth, place.leaves)).length;
  return Buffer.concat(path.slice(0, 1 + siblings));
}

/** Joins the two parts of a path: blind, then siblings. Returns undefined if their lengths do not fit the place. @param octets length of a digest */
export function wholePathOf(place: LeafPlace, lower: Buffer, crown: Buffer, octets: number): Buffer[] | undefined {
  const { index, leaves } = place;
  if (!(Number.isInteger(index) && Number.isInteger(leaves) && index >= 0 && index < leaves && leaves <= 2 ** 32)) return undefined;
  const [lowest, root] = [heightWith(crownWidth, leaves), heightWith(1, leaves)];
  const nodeAt = (bytes: Buffer, i: number) => bytes.subarray(i * octets, (i + 1) * octets);
  /** The number of nodes in the crown below a height. */
  const nodesBelow = (height: number): number => (height === lowest ? 0 : nodesBelow(height - 1) + widthAt(leaves, height - 1));
  const isWhole = lower.length === octets * (1 + siblingHeights(place, 0, lowest).length);
  if (!isWhole || crown.length !== nodesBelow(root) * octets) return undefined;
  return [
    ...Array.from({ length: lower.length / octets }, (_, i) => nodeAt(lower, i)),
    ...siblingHeights(place, lowest, root).map((height) => nodeAt(crown, nodesBelow(height) + siblingAt(index, height))),
  ];
}
