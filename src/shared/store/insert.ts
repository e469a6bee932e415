import { type Collection, type Db, type Document, MongoServerError, WriteConcern } from 'mongodb';
import { duplicateKey } from './errors.ts';

/**
 * One command is one document of BSON, of 16 MiB at most. A stamp has an answer of a TSA of at most 64 KiB (`maxAnswerBytes`), which may stand in it
 * a second time as base64, and metadata: less than 256 KiB.
 */
const mostPerCommand = 64;

interface InsertReply extends Document {
  readonly writeErrors?: readonly { readonly index: number; readonly code: number; readonly errmsg?: string }[];
  readonly writeConcernError?: Document;
}

/**
 * Inserts the documents whose `_id` is not taken yet, and returns the positions of the others. Does what `insertMany` does, but sends the
 * documents within the command. `insertMany` sends them beside it, which costs DocumentDB's gateway twice as much (docs/architecture.md "How the store is used").
 *
 * @throws MongoError where any failed for another reason; the others may be written
 */
export async function insertNew<T extends Document>(
  db: Db,
  { collectionName, writeConcern, bsonOptions }: Collection<T>,
  documents: readonly T[],
): Promise<number[]> {
  const taken: number[] = [];
  // One after the other: side by side they would take the connections of everybody else.
  for (let first = 0; first < documents.length; first += mostPerCommand) {
    const command = { insert: collectionName, documents: documents.slice(first, first + mostPerCommand), ordered: false };
    // `db.command` takes neither write concern nor BSON options from the collection.
    if (writeConcern) WriteConcern.apply(command, writeConcern);
    const { writeErrors = [], writeConcernError }: InsertReply = await db.command(command, bsonOptions);
    const failed = writeErrors.find(({ code }) => code !== duplicateKey) ?? writeConcernError;
    if (failed) throw new MongoServerError(failed);
    taken.push(...writeErrors.map(({ index }) => first + index));
  }
  return taken;
}
