import { isEvidenceRecord } from '../rfc3161/index.ts';
import { type StoredFile, storedFile, storedZip } from './stored-zip.ts';

/** ASiC-S containers (EN 319 162-1 §4.3): a zip file with one file and the proof of when it existed. */

/** The media type, which the first entry says (§4.3.3.1). */
export const containerType = 'application/vnd.etsi.asic-s+zip';
/** Where the proof is (§4.3.3.2): a time-stamp token, or an evidence record (RFC 4998). */
export const proofEntries = { token: 'META-INF/timestamp.tst', record: 'META-INF/evidencerecord.ers' } as const;

/**
 * The octets of a container: `mimetype` first, nothing compressed. The same file and proof give the same octets.
 *
 * @param proof DER of a TimeStampToken or an EvidenceRecord over the file
 */
export const containerOf = (file: StoredFile, proof: Buffer): AsyncGenerator<Uint8Array> =>
  storedZip([
    storedFile('mimetype', Buffer.from(containerType)),
    file,
    storedFile(isEvidenceRecord(proof) ? proofEntries.record : proofEntries.token, proof),
  ]);
