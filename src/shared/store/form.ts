import type { Collection, Db } from 'mongodb';
import { ConfigError } from '../runtime/config.ts';
import { insertIfAbsent } from './connection.ts';

/** The form of all stored documents. The number grows with a form that an earlier version would misread. */
const form = 1;

interface StoredForm {
  readonly _id: string;
  readonly number: number;
}

/**
 * Writes the number of the form into an empty database, and compares it with that of any other (E17). It runs before anything else is written, so a
 * database with keys of the service and without a number has another form.
 *
 * @throws ConfigError if this version cannot read the database
 */
export async function checkForm(db: Db): Promise<void> {
  const forms: Collection<StoredForm> = db.collection('database');
  const isEmpty = (await db.collection<{ _id: string }>('keys').findOne({ _id: 'mock-provider' })) === null;
  if (isEmpty) await insertIfAbsent(forms, { _id: 'form', number: form });
  const stored = await forms.findOne({ _id: 'form' });
  if (!stored) {
    throw new ConfigError(
      `MONGODB_URL: the database "${db.databaseName}" was written by an unreleased qstamp, and this version cannot read it; ` +
        'remove the folder .local if npm start made the database, otherwise drop it',
    );
  }
  if (stored.number > form) {
    throw new ConfigError(
      `MONGODB_URL: the database "${db.databaseName}" was written by a newer qstamp (form ${stored.number}; this one knows ${form}); run the newer version`,
    );
  }
}
