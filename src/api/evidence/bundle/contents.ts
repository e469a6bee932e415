import type { OutputLine, StampKind } from '../../../shared/contract/evidence-bundle.ts';
import type { ClosingRecord } from '../../../shared/proof/closing-record.js';
import type { BundledCertificate } from './certificates.ts';

/** A stamp as the public gets it. */
export interface EvidenceStamp {
  readonly kind: StampKind;
  /** DER; empty if there is nothing that others could check. */
  readonly bytes: Buffer;
}

export interface EvidenceSeal extends EvidenceStamp {
  readonly stampId: string;
  readonly issuedAt: string;
  readonly hash: string;
}

/** The public evidence of a completed workflow. Everything that is sealed is verified: root, chain, tree and closing record. */
export interface Evidence {
  readonly record: ClosingRecord;
  /** Exactly as it was stamped. */
  readonly recordText: string;
  readonly root: EvidenceSeal;
  readonly closing: EvidenceSeal;
  /** The bytes whose SHA-256 is the root. */
  readonly rootPreimage: Buffer;
  /** The certificates of the seals; after the stamps were read, those of all stamps. */
  certificates(): readonly BundledCertificate[];
  revocationLists(): readonly string[];
  /** Hashes of the inclusion path, lowest first, lower-case hex. */
  pathOf(number: number): readonly string[];
  /** All outputs in order, as stored. @throws ServiceError if one differs from the recomputed chain */
  outputs(): AsyncIterable<OutputLine>;
  /** The outputs' own stamps, from number `first` to `last`, as stored: they are not verified. */
  stamps(first: number, last: number): AsyncIterable<OutputLine & EvidenceStamp>;
}

const chunkCharacters = 64 * 1024;

/** Joins the text into fewer, larger pieces of bytes. */
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
