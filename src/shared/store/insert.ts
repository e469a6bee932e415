import {
  Binary,
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoServerError,
  type OptionalUnlessRequiredId,
  WriteConcern,
} from 'mongodb';
import { duplicateKey, isDuplicateKey } from './errors.ts';

/** The maximum size of all documents in one command. MongoDB allows 16 MiB for a command, so the rest is enough for its other fields. */
const mostBytesPerCommand = 12 * 1024 * 1024;

/** An upper bound for the octets that BSON adds to a value (type, length, end of its name). It also covers a whole number or date. */
const overheadBytes = 24;

/** Returns an upper bound for the BSON size of a value, without encoding it. A UTF-16 unit takes at most three octets of UTF-8. */
function mostBytesOf(value: unknown): number {
  if (typeof value === 'string') return overheadBytes + 3 * value.length;
  if (value instanceof Binary) return overheadBytes + value.position;
  if (ArrayBuffer.isView(value)) return overheadBytes + value.byteLength;
  if (typeof value !== 'object' || value === null) return overheadBytes;
  let bytes = overheadBytes;
  // `Object.entries` would produce two kilobytes of garbage for each stamp.
  for (const name of Object.keys(value)) bytes += 3 * name.length + mostBytesOf((value as Record<string, unknown>)[name]);
  return bytes;
}

interface WriteFault {
  readonly index: number;
  readonly code: number | string | undefined;
}

/** Returns the positions of the documents with a duplicate key, or undefined if one of the faults is not a duplicate key. */
function duplicatesIn(faults: readonly WriteFault[]): number[] | undefined {
  return faults.every(({ code }) => code === duplicateKey) ? faults.map(({ index }) => index) : undefined;
}

/** Sends the documents inside the command. Returns the positions of duplicate keys, and throws for any other fault. */
async function insertWithin<T extends Document>(
  db: Db,
  { collectionName, writeConcern, bsonOptions }: Collection<T>,
  documents: readonly T[],
): Promise<number[]> {
  const command = { insert: collectionName, documents, ordered: false };
  // `db.command` does not use the write concern and the BSON options of the collection, so they are set here.
  if (writeConcern) WriteConcern.apply(command, writeConcern);
  const { writeErrors = [], writeConcernError } = await db.command(command, bsonOptions);
  const duplicates = duplicatesIn(writeErrors);
  if (!duplicates || writeConcernError) {
    throw new MongoServerError(writeErrors.find(({ code }: WriteFault) => code !== duplicateKey) ?? writeConcernError);
  }
  return duplicates;
}

async function insertMany<T extends Document>(collection: Collection<T>, documents: readonly T[]): Promise<number[]> {
  try {
    await collection.insertMany([...documents] as OptionalUnlessRequiredId<T>[], { ordered: false });
    return [];
  } catch (error) {
    const faults = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    const duplicates = faults.length > 0 ? duplicatesIn(faults) : undefined;
    if (!duplicates) throw error;
    return duplicates;
  }
}

/** Inserts one document, unless its `_id` exists. Resolves to true if it was inserted. @throws MongoError like `insertOne` */
export async function insertIfAbsent<T extends Document>(
  collection: Collection<T>,
  document: OptionalUnlessRequiredId<T>,
): Promise<boolean> {
  try {
    await collection.insertOne(document);
    return true;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}

/**
 * Inserts the documents whose `_id` does not exist yet, and returns the positions of the others. The driver's `insertMany` sends documents outside
 * the command, which costs DocumentDB's gateway twice as much. So they are sent inside it if they fit (docs/reference/adr/0006-what-an-insert-costs.md).
 *
 * @throws MongoError if a document fails for another reason; other documents may be written
 */
export async function insertNew<T extends Document>(db: Db, collection: Collection<T>, documents: readonly T[]): Promise<number[]> {
  if (documents.length === 0) return [];
  const bytes = documents.reduce((sum, document) => sum + mostBytesOf(document), 0);
  return bytes > mostBytesPerCommand ? insertMany(collection, documents) : insertWithin(db, collection, documents);
}
