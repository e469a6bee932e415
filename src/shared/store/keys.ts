import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import { keyBytes, keyFingerprintOf, nonceBytes, unwrapKey, wrapKey } from '../domain/encryption.ts';
import { ConfigError } from '../runtime/config.ts';
import { inStore, insertIfAbsent, maxTimeMS, unavailable } from './connection.ts';
import { checkForm } from './form.ts';

/** A key of the service, encrypted with the master key, which is not in the database. `wrappedBy`: the fingerprint of the master key. */
interface WrappedKey {
  readonly _id: string;
  readonly wrapped: Binary;
  readonly wrappedBy: string;
  readonly createdAt: Date;
}

/** The keys in the order of creation. If two processes have different master keys, the process that makes the first key makes all others. */
const keyNames = ['mock-provider', 'idempotency', 'challenge', 'workflows', 'stamp-metadata', 'cose-receipts', 'recipients'] as const;
type KeyName = (typeof keyNames)[number];

const wrong = (wrappedBy: string, given: KeyObject) =>
  new ConfigError(
    `MASTER_KEY: got the key ${keyFingerprintOf(given)} (not shown); this database needs ${wrappedBy}, which encrypts the secrets in it`,
  );

const contextOf = (name: string): string => `key:${name}`;

function wrapped(masterKey: KeyObject, name: string, key: KeyObject) {
  const cipher = { key: masterKey, nonce: randomBytes(nonceBytes), context: contextOf(name) };
  return { wrapped: new Binary(wrapKey(cipher, key)), wrappedBy: keyFingerprintOf(masterKey) };
}

/** Decrypts a key. @throws ConfigError if another master key encrypted it */
function unwrapped(masterKey: KeyObject, record: WrappedKey): KeyObject {
  const key = record.wrappedBy === keyFingerprintOf(masterKey) && unwrapKey(masterKey, contextOf(record._id), record.wrapped.buffer);
  if (!key) throw wrong(record.wrappedBy, masterKey);
  return key;
}

export type KeyStore = ReturnType<typeof createKeyStore>;

/** Stores the service's own keys. They are made once for each database, and all processes of the service share them. */
export function createKeyStore(db: Db, masterKey: KeyObject) {
  const keys: Collection<WrappedKey> = db.collection('keys');
  const known = new Map<KeyName, KeyObject>();

  async function load(name: KeyName): Promise<KeyObject> {
    for (;;) {
      const found = await keys.findOne({ _id: name }, { maxTimeMS });
      if (found) return unwrapped(masterKey, found);
      await checkForm(db);
      const key = createSecretKey(randomBytes(keyBytes));
      await insertIfAbsent(keys, { _id: name, createdAt: new Date(), ...wrapped(masterKey, name, key) });
    }
  }

  async function secret(name: KeyName): Promise<KeyObject> {
    const key = known.get(name) ?? (await inStore(() => load(name)));
    known.set(name, key);
    return key;
  }

  return {
    /** Returns the 256-bit secret with this name. The first request for it makes it. A process reads it once. */
    secret: async (name: KeyName): Promise<KeyObject> => {
      try {
        return await secret(name);
      } catch (error) {
        // MongoDB was down at start, and its keys are encrypted with another master key. The caller gets a temporary error, and no key is made.
        throw error instanceof ConfigError ? unavailable(error) : error;
      }
    },
    /**
     * Checks the form of the database, and reads every key, so that a wrong master key is found at start. Makes missing keys.
     *
     * @throws ConfigError if this version cannot read the database, or the keys are encrypted with another master key
     */
    open: async (): Promise<void> => {
      await inStore(() => checkForm(db));
      for (const name of keyNames) await secret(name);
    },
  };
}

/**
 * Encrypts every key with `next` instead of `current`, and returns the number of changed keys. Keys from an earlier, interrupted run stay unchanged.
 *
 * @throws ConfigError if neither `current` nor `next` decrypts a key
 */
export function rewrapKeys(db: Db, { current, next }: { current: KeyObject; next: KeyObject }): Promise<number> {
  const keys: Collection<WrappedKey> = db.collection('keys');
  return inStore(async () => {
    const records = await keys.find({}, { maxTimeMS }).toArray();
    const old = records.filter(({ wrappedBy }) => wrappedBy !== keyFingerprintOf(next));
    for (const record of old) {
      const key = unwrapped(current, record);
      await keys.replaceOne({ _id: record._id }, { createdAt: record.createdAt, ...wrapped(next, record._id, key) });
    }
    return old.length;
  });
}
