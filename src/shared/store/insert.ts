import { type Collection, type Db, type Document, MongoServerError, WriteConcern } from 'mongodb';
import { duplicateKey } from './errors.ts';

/** One command is one document of BSON, of 16 MiB at most; no stamp comes near a hundredth of that. */
const mostPerCommand = 100;

interface InsertReply extends Document {
  readonly writeErrors?: readonly { readonly index: number; readonly code: number; readonly errmsg?: string }[];
  readonly writeConcernError?: Document;
}

/**
 * Inserts documents of which each has an `_id`, whatever becomes of the others, and returns the positions of those whose key was taken. What
 * `insertMany` does, but that the documents are sent in the command itself: a sequence of documents beside it costs DocumentDB's gateway
 * twice as much (docs/architecture.md "How the store is used").
 *
 * @throws MongoError where anything else failed
 */
export async function insertEach<T extends Document>(
  db: Db,
  { collectionName, writeConcern }: Collection<T>,
  documents: readonly T[],
): Promise<number[]> {
  async function insert(first: number): Promise<number[]> {
    const command = { insert: collectionName, documents: documents.slice(first, first + mostPerCommand), ordered: false };
    // A command by itself inherits neither from the collection.
    const { writeErrors = [], writeConcernError }: InsertReply = await db.command(
      WriteConcern.apply(command, writeConcern ?? new WriteConcern('majority')),
      { ignoreUndefined: true },
    );
    const failed = writeErrors.find(({ code }) => code !== duplicateKey) ?? writeConcernError;
    if (failed) throw new MongoServerError(failed);
    return writeErrors.map(({ index }) => first + index);
  }
  const firsts = Array.from({ length: Math.ceil(documents.length / mostPerCommand) }, (_, part) => part * mostPerCommand);
  return (await Promise.all(firsts.map(insert))).flat();
}
