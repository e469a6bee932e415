import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Db, GridFSBucket, ObjectId } from 'mongodb';
import { createNote, inStore, longestMs, maxTimeMS, transferMs } from './connection.ts';

const chunkSizeBytes = 256 * 1024;
/** The driver sends all chunks of one write in parallel, and gives up each after ten seconds. Two chunks arrive in time even on slow lines. */
const bytesPerWrite = 2 * chunkSizeBytes;

const bytesPerRead = 4 * chunkSizeBytes;

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += bytesPerWrite) yield bytes.subarray(start, start + bytesPerWrite);
}

export interface StoredContent {
  /** Size in bytes. */
  readonly size: number;
  /** Reads the bytes from `start` up to, but not including, `end`. */
  read(start: number, end: number): AsyncIterable<Buffer>;
}

/** The ids of a content and of the stamp for which it was stored. The stamp may be missing. */
export interface SweptContent {
  readonly contentId: string;
  readonly tokenId: string;
}

const perPage = 500;

/** Stores sealed content in GridFS. The caller has encrypted it, and it is never readable here (S11). */
export function createSealedContentStore(db: Db) {
  const bucket = new GridFSBucket(db, { bucketName: 'sealed', chunkSizeBytes });
  const lastSwept = createNote<ObjectId>(db, 'content-sweep', 'after');

  /** Reads one MiB at a time, because the driver keeps in memory everything that it reads at a time. */
  async function* readPart(id: ObjectId, start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start, to = start; at < end; at = to) {
      to = Math.min(end, (Math.floor(at / bytesPerRead) + 1) * bytesPerRead);
      const stream = bucket.openDownloadStream(id, { start: at, end: to });
      const parts = stream[Symbol.asyncIterator]();
      try {
        for (;;) {
          const { value, done } = await inStore(() => parts.next());
          if (done) break;
          yield value;
        }
      } finally {
        stream.destroy();
      }
    }
  }

  return {
    /** Writes the content durably and returns its id. */
    put: (tokenId: string, bytes: Buffer): Promise<string> =>
      inStore(async () => {
        const upload = bucket.openUploadStream(tokenId, { metadata: { tokenId } });
        await pipeline(Readable.from(partsOf(bytes)), upload);
        return upload.id.toHexString();
      }, longestMs + transferMs(bytes.length)),
    /** Opens a content. Resolves to null if there is no content with this id. */
    open: async (contentId: string): Promise<StoredContent | null> => {
      const [file] = await inStore(() => bucket.find({ _id: new ObjectId(contentId) }).toArray());
      return file === undefined ? null : { size: file.length, read: (start, end) => readPart(file._id, start, end) };
    },
    remove: (contentId: string): Promise<void> =>
      inStore(async () => {
        const id = new ObjectId(contentId);
        const [file] = await bucket.find({ _id: id }).toArray();
        if (file) await bucket.delete(id);
      }),
    /**
     * Yields the contents that were stored before `before`, oldest first, in pages of some hundred. By asking for the next page, the caller confirms
     * that it is done with the previous pages: later calls leave them out.
     */
    listNotSwept: async function* (before: Date): AsyncIterable<readonly SweptContent[]> {
      // Ids of contents begin with the second in which the upload began, so they sort by it.
      const end = ObjectId.createFromTime(Math.floor(before.getTime() / 1000));
      let after = await lastSwept.read();
      for (;;) {
        const range = { _id: { ...(after && { $gt: after }), $lt: end } };
        const page = await inStore(() => bucket.find(range, { maxTimeMS }).sort({ _id: 1 }).limit(perPage).toArray());
        const last = page.at(-1);
        if (last === undefined) return;
        yield page.map(({ _id, filename }) => ({ contentId: _id.toHexString(), tokenId: filename }));
        after = last._id;
        await lastSwept.write(after);
      }
    },
  };
}
