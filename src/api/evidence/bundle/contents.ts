import type { OutputLine, StampKind } from '../../../shared/contract/evidence-bundle.ts';
import type { ClosingRecord } from '../../../shared/proof/closing-record.js';
import type { BundledCertificate } from './certificates.ts';

/** A stamp as a stranger gets it. */
export interface EvidenceStamp {
  readonly kind: StampKind;
  /** DER; empty where there is nothing that a stranger could check. */
  readonly bytes: Buffer;
}

export interface EvidenceSeal extends EvidenceStamp {
  readonly stampId: string;
  readonly issuedAt: string;
  readonly hash: string;
}

/** All that a completed workflow leaves to strangers, verified as far as it is sealed: root, chain, tree and closing record. */
export interface Evidence {
  readonly record: ClosingRecord;
  /** As it was stamped. */
  readonly recordText: string;
  readonly root: EvidenceSeal;
  readonly closing: EvidenceSeal;
  /** What the root is the SHA-256 of. */
  readonly rootPreimage: Buffer;
  /** Of the seals alone until the stamps were read, then of all. */
  certificates(): readonly BundledCertificate[];
  revocationLists(): readonly string[];
  /** Hashes of the inclusion path, lowest first, lower-case hex. */
  pathOf(number: number): readonly string[];
  /** All outputs in their order, as they are stored. @throws ServiceError where one differs from what was recomputed */
  outputs(): AsyncIterable<OutputLine>;
  /** The outputs' own stamps, from number `first` to `last`, as they are stored: they were not verified. */
  stamps(first: number, last: number): AsyncIterable<OutputLine & EvidenceStamp>;
}

const chunkCharacters = 64 * 1024;

/** The same text in fewer and larger pieces, as bytes. */
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
