import { ZipFile } from 'yazl';
import { isRecord } from '../rfc3161/index.ts';
import { type StoredFile, storedFile, storedZip } from './stored-zip.ts';

/** ASiC-S containers (EN 319 162-1 §4.3): a zip file with one file and the proof of when it existed. */

/** The media type, which the first entry says (§4.3.3.1). */
export const containerType = 'application/vnd.etsi.asic-s+zip';
/** Where the proof is (§4.3.3.2): a time-stamp token, or an evidence record (RFC 4998). */
export const proofEntries = { token: 'META-INF/timestamp.tst', record: 'META-INF/evidencerecord.ers' } as const;

/** The same for every entry, so that the same content gives the same octets anywhere: DOS time has no zone, and no compressor is asked. */
const entryOptions = { mtime: new Date(1980, 0, 1), mode: 0o100644, compress: false, forceDosTimestamp: true };
type EntryOptions = typeof entryOptions;

/**
 * A container that writes itself as it is read: `mimetype` first, nothing compressed.
 *
 * @param addFile adds the one file
 * @param proof DER of a TimeStampToken or an EvidenceRecord over it
 */
export function createContainer(addFile: (zip: ZipFile, options: EntryOptions) => void, proof: Buffer): ZipFile {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(containerType), 'mimetype', entryOptions);
  addFile(zip, entryOptions);
  zip.addBuffer(proof, isRecord(proof) ? proofEntries.record : proofEntries.token, entryOptions);
  zip.end();
  return zip;
}

/**
 * The octets of a container: `mimetype` first, nothing compressed. The same file and proof give the same octets.
 *
 * @param proof DER of a TimeStampToken or an EvidenceRecord over the file
 */
export const containerOf = (file: StoredFile, proof: Buffer): AsyncGenerator<Uint8Array> =>
  storedZip([
    storedFile('mimetype', Buffer.from(containerType)),
    file,
    storedFile(isRecord(proof) ? proofEntries.record : proofEntries.token, proof),
  ]);
