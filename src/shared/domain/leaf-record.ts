import { encodeEvidenceRecord, firstTimeStampOf, isEvidenceRecord } from '../rfc3161/index.ts';
import { type Batch, digestCharacters, type Imprint, type ImprintAlgorithm } from './stamp.ts';

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
