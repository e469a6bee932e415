import { containerType, proofEntries } from '../proof/asics.js';
import { isEvidenceRecord } from '../rfc3161/index.ts';
import { type StoredFile, storedFile, storedZip } from './stored-zip.ts';

/**
 * Yields the octets of an ASiC-S container: `mimetype` is the first entry, and nothing is compressed. The same file and proof give the same octets.
 *
 * @param proof DER of a TimeStampToken or an EvidenceRecord over the file
 */
export const containerOf = (file: StoredFile, proof: Buffer): AsyncGenerator<Uint8Array> =>
  storedZip([
    storedFile('mimetype', Buffer.from(containerType)),
    file,
    storedFile(isEvidenceRecord(proof) ? proofEntries.record : proofEntries.token, proof),
  ]);
