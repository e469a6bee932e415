import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Db, GridFSBucket, ObjectId } from 'mongodb';
import { inStore } from './errors.ts';

const chunkSizeBytes = 1024 * 1024;

/** Sealed content in GridFS, as the bytes that it is given: encrypted by the caller, never readable here (S11). */
export interface SealedContentStore {
  /** Writes the content durably and returns its id. */
  put(tokenId: string, bytes: Buffer): Promise<string>;
  /** The content, or null when there is none under that id. */
  get(contentId: string): Promise<Buffer | null>;
  remove(contentId: string): Promise<void>;
  /** Contents that were put before `before`, oldest first, with the token id that each was meant for. */
  listPutBefore(before: Date): AsyncIterable<{ contentId: string; tokenId: string }>;
}

export function createSealedContentStore(db: Db): SealedContentStore {
  const bucket = new GridFSBucket(db, { bucketName: 'sealed', chunkSizeBytes });
  return {
    put: (tokenId, bytes) =>
      inStore(async () => {
        const upload = bucket.openUploadStream(tokenId, { metadata: { tokenId } });
        await pipeline(Readable.from([bytes]), upload);
        return upload.id.toHexString();
      }),
    get: (contentId) =>
      inStore(async () => {
        const [file] = await bucket.find({ _id: new ObjectId(contentId) }).toArray();
        if (!file) return null;
        const parts: Buffer[] = [];
        for await (const part of bucket.openDownloadStream(file._id)) parts.push(part);
        return Buffer.concat(parts);
      }),
    remove: (contentId) =>
      inStore(async () => {
        const id = new ObjectId(contentId);
        const [file] = await bucket.find({ _id: id }).toArray();
        if (file) await bucket.delete(id);
      }),
    listPutBefore: async function* (before) {
      for await (const file of bucket.find({ uploadDate: { $lt: before } }).sort({ _id: 1 })) {
        yield { contentId: file._id.toHexString(), tokenId: file.filename };
      }
    },
  };
}
