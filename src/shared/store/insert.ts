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

/** A command is a document of BSON, of 16 MiB at most (MongoDB's limit). The rest is far more than it says beside its documents. */
const mostBytesPerCommand = 12 * 1024 * 1024;

/** What a value has beside its octets, or more: type, length, the end of its name; of a number or a date, all of it. */
const overheadBytes = 24;

/** Never fewer octets than a value that we store takes in BSON, found without encoding it: a character of a string is up to three octets of UTF-8. */
function mostBytesOf(value: unknown): number {
  if (typeof value === 'string') return overheadBytes + 3 * value.length;
  if (value instanceof Binary) return overheadBytes + value.position;
  if (ArrayBuffer.isView(value)) return overheadBytes + value.byteLength;
  if (typeof value !== 'object' || value === null) return overheadBytes;
  let bytes = overheadBytes;
  // `Object.entries` would leave two kilobytes of each stamp to the garbage collector.
  for (const name of Object.keys(value)) bytes += 3 * name.length + mostBytesOf((value as Record<string, unknown>)[name]);
  return bytes;
}

interface WriteFault {
  readonly index: number;
  readonly code: number | string | undefined;
}

/** The positions in `faults`, or undefined where one of them is no taken key. */
function duplicatesIn(faults: readonly WriteFault[]): number[] | undefined {
  return faults.every(({ code }) => code === duplicateKey) ? faults.map(({ index }) => index) : undefined;
}

/** Sends the documents within the command; throws what `insertMany` would, but for taken keys. */
async function insertWithin<T extends Document>(
  db: Db,
  { collectionName, writeConcern, bsonOptions }: Collection<T>,
  documents: readonly T[],
): Promise<number[]> {
  const command = { insert: collectionName, documents, ordered: false };
  // `db.command` takes neither write concern nor BSON options from the collection.
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

/** Inserts one document, unless its `_id` is taken. Returns whether it did. @throws MongoError as `insertOne` */
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
 * Inserts the documents whose `_id` is not taken yet, and returns the positions of the others. The driver's `insertMany` sends documents beside
 * the command, which costs DocumentDB's gateway twice as much, so they are sent within it where they fit (docs/adr/0006-what-an-insert-costs.md).
 *
 * @throws MongoError where any failed for another reason; the others may be written
 */
export async function insertNew<T extends Document>(db: Db, collection: Collection<T>, documents: readonly T[]): Promise<number[]> {
  if (documents.length === 0) return [];
  const bytes = documents.reduce((sum, document) => sum + mostBytesOf(document), 0);
  return bytes > mostBytesPerCommand ? insertMany(collection, documents) : insertWithin(db, collection, documents);
}
