import type { OutputLine, StampKind } from '../../../shared/contract/evidence-bundle.ts';
import type { ClosingRecord } from '../../../shared/proof/closing-record.js';
import type { BundledCertificate } from './certificates.ts';
import type { BundledList, SealQualification } from './lists.ts';

/** A stamp as public evidence. */
export interface EvidenceStamp {
  readonly kind: StampKind;
  /** DER; empty if there is nothing that other people could check. */
  readonly bytes: Buffer;
}

export interface EvidenceSeal extends EvidenceStamp {
  readonly stampId: string;
  readonly issuedAt: string;
  readonly hash: string;
  /** Undefined if the seal does not verify any more. */
  readonly qualification: SealQualification['qualification'] | undefined;
}

/** The public evidence of a completed workflow. Root, chain, tree and closing record are verified; the outputs' own stamps are not. */
export interface BundleContents {
  readonly record: ClosingRecord;
  /** The text of the closing record, exactly as it was stamped. */
  readonly recordText: string;
  readonly root: EvidenceSeal;
  readonly closing: EvidenceSeal;
  /** The bytes whose SHA-256 is the root. */
  readonly rootPreimage: Buffer;
  /** Undefined if they were not asked for. */
  readonly lists: readonly BundledList[] | undefined;
  /** The certificates of the two seals. After `stamps` was read, also those of the outputs' stamps. */
  certificates(): readonly BundledCertificate[];
  revocationLists(): readonly string[];
  /** The hashes of an output's inclusion path, from the lowest level up, in lower-case hex. */
  pathOf(number: number): readonly string[];
  /** All outputs in order, as stored. @throws ServiceError if one differs from the recomputed chain */
  outputs(): AsyncIterable<OutputLine>;
  /** The outputs' own stamps, from number `first` to `last`, as stored: they are not verified. */
  stamps(first: number, last: number): AsyncIterable<OutputLine & EvidenceStamp>;
}

const chunkCharacters = 64 * 1024;

/** Joins pieces of text into fewer, larger buffers. */
export async function* inChunks(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  let waiting: string[] = [];
  let characters = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < chunkCharacters) continue;
    yield Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
  }
  if (waiting.length > 0) yield Buffer.from(waiting.join(''));
}
