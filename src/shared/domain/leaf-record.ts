import { encodeRecord, firstTimeStampOf, isRecord } from '../rfc3161/index.ts';
import type { Batch, Imprint } from './stamp.ts';

/** The EvidenceRecord of one imprint of a batch, DER: one hash in each list, first the imprint, then its blind and the siblings (RFC 4998 §4.2). */
export function leafRecordOf({ algorithm, digest }: Imprint, { tst }: Pick<Batch, 'tst'>, path: readonly Buffer[]): Buffer {
  return encodeRecord(algorithm, { reducedHashtree: [[Buffer.from(digest, 'hex')], ...path.map((hash) => [hash])], token: tst });
}

/** What tells a leaf from all others: the token of its batch, DER, and its blind. */
export interface LeafMarks {
  readonly tst: Buffer;
  readonly blind: Buffer;
}

/** Those of a record of a leaf, renewed or not; undefined where it is none. Never throws, whatever the bytes. */
export function leafMarksOf(record: Buffer): LeafMarks | undefined {
  const first = isRecord(record) ? firstTimeStampOf(record) : undefined;
  const [imprint, blind] = first?.reducedHashtree ?? [];
  return first && imprint?.length === 1 && blind?.length === 1 ? { tst: first.token, blind: blind[0]! } : undefined;
}
