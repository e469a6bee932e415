import { encodeEvidenceRecord, firstTimeStampOf, isEvidenceRecord } from '../rfc3161/index.ts';
import { type Batch, digestCharacters, type Imprint, type ImprintAlgorithm } from './stamp.ts';

/** The EvidenceRecord of one imprint of a batch, DER: one hash in each list, first the imprint, then its blind and the siblings (RFC 4998 §4.2). */
export function leafRecordOf({ algorithm, digest }: Imprint, { tst }: Pick<Batch, 'tst'>, path: readonly Buffer[]): Buffer {
  return encodeEvidenceRecord(algorithm, { reducedHashtree: [[Buffer.from(digest, 'hex')], ...path.map((hash) => [hash])], token: tst });
}

/** Before each hash stand tag and length of its list, and its own: two octets each, since no digest is longer than 64 octets. */
const listHeadOctets = 4;

/**
 * `leafRecordOf` for many leaves of one batch: those of one algorithm and path length differ only in their hashes. They share a frame, and
 * each call writes its hashes over those of the call before.
 *
 * @param tst of the batch, DER
 * @returns makes one record, base64; `hashes`: digest, blind and siblings up to the root, one after the other, each as long as a digest of
 *   `algorithm`
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

/** What tells a leaf from all others: the token of its batch, DER, and its blind. */
export interface LeafMarks {
  readonly tst: Buffer;
  readonly blind: Buffer;
}

/** Those of a record of a leaf, renewed or not; undefined where it is none. Never throws, whatever the bytes. */
export function leafMarksOf(record: Buffer): LeafMarks | undefined {
  const first = isEvidenceRecord(record) ? firstTimeStampOf(record) : undefined;
  const [imprint, blind] = first?.reducedHashtree ?? [];
  return first && imprint?.length === 1 && blind?.length === 1 ? { tst: first.token, blind: blind[0]! } : undefined;
}
