import {
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoServerError,
  type OptionalUnlessRequiredId,
  WriteConcern,
} from 'mongodb';
import { duplicateKey } from './errors.ts';

/**
 * So many stamps fit into one command, a document of BSON of 16 MiB at most: one has an answer of a TSA of at most 64 KiB (`maxAnswerBytes`), which
 * may stand in it a second time as base64, and metadata, less than 192 KiB in all.
 */
const mostPerCommand = 64;

interface WriteFault {
  readonly index: number;
  readonly code: number | string | undefined;
}

/** The positions in `faults`, or undefined where one of them is no taken key. */
function duplicatesIn(faults: readonly WriteFault[]): number[] | undefined {
  return faults.every(({ code }) => code === duplicateKey) ? faults.map(({ index }) => index) : undefined;
}

/** Sends the documents within the command; throws what `insertMany` would, but for taken keys. */
async function insertFew<T extends Document>(
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

/**
 * Inserts the documents whose `_id` is not taken yet, and returns the positions of the others. The driver's `insertMany` sends documents beside
 * the command, which costs DocumentDB's gateway twice as much, so few are sent within it (docs/architecture.md "How the store is used").
 *
 * @throws MongoError where any failed for another reason; the others may be written
 */
export async function insertNew<T extends Document>(db: Db, collection: Collection<T>, documents: readonly T[]): Promise<number[]> {
  if (documents.length === 0) return [];
  return documents.length > mostPerCommand ? insertMany(collection, documents) : insertFew(db, collection, documents);
}
