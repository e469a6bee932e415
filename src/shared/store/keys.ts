import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import { fingerprintOf, keyBytes, nonceBytes, unwrapKey, wrapKey } from '../domain/encryption.ts';
import { ConfigError } from '../runtime/config.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, unavailable } from './errors.ts';
import { insertIfAbsent } from './insert.ts';

/** Wrapped by the master key, which is in no database. `wrappedBy`: the fingerprint of that key. */
interface WrappedKey {
  readonly _id: string;
  readonly wrapped: Binary;
  readonly wrappedBy: string;
  readonly createdAt: Date;
}

/** As version 0.2.0 kept it. */
interface PlainKey {
  readonly _id: string;
  readonly key: Binary;
  readonly createdAt: Date;
}

type Keys = Collection<WrappedKey | PlainKey>;

/** In the order in which they are made: of two processes with different master keys, one makes the first and the other makes none. */
const keyNames = ['mock-provider', 'idempotency', 'challenge', 'workflows', 'stamp-metadata', 'cose-receipts'] as const;
export type KeyName = (typeof keyNames)[number];

const wrong = (wrappedBy: string, given: KeyObject) =>
  new ConfigError(
    `MASTER_KEY: got the key ${fingerprintOf(given)} (not shown); this database takes ${wrappedBy}, which wraps the secrets in it`,
  );

const contextOf = (name: string): string => `key:${name}`;

function wrapped(masterKey: KeyObject, name: string, key: KeyObject) {
  const cipher = { key: masterKey, nonce: randomBytes(nonceBytes), context: contextOf(name) };
  return { wrapped: new Binary(wrapKey(cipher, key)), wrappedBy: fingerprintOf(masterKey) };
}

/** @throws ConfigError */
function unwrapped(masterKey: KeyObject, record: WrappedKey): KeyObject {
  const key = record.wrappedBy === fingerprintOf(masterKey) && unwrapKey(masterKey, contextOf(record._id), record.wrapped.buffer);
  if (!key) throw wrong(record.wrappedBy, masterKey);
  return key;
}

export type KeyStore = ReturnType<typeof createKeyStore>;

/** Keys of the service itself, made once for a database and shared by every process on it. */
export function createKeyStore(db: Db, masterKey: KeyObject) {
  const keys: Keys = db.collection('keys');
  const known = new Map<KeyName, KeyObject>();

  async function load(name: KeyName): Promise<KeyObject> {
    for (;;) {
      const found = await keys.findOne({ _id: name }, { maxTimeMS });
      if (found && 'wrapped' in found) return unwrapped(masterKey, found);
      if (found) {
        const { _id, createdAt, key } = found;
        const replacement = { createdAt, ...wrapped(masterKey, name, createSecretKey(key.buffer)) };
        await keys.replaceOne({ _id, key: { $exists: true } }, replacement);
        continue;
      }
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
    /** The 256-bit secret of that name; whoever asks first makes it. Read once in a process. */
    secret: async (name: KeyName): Promise<KeyObject> => {
      try {
        return await secret(name);
      } catch (error) {
        // The store was away at start, and came back as another one: nothing is made under a key of our own, and nothing is lost.
        throw error instanceof ConfigError ? unavailable(error) : error;
      }
    },
    /**
     * Reads every key, so that a wrong master key shows at start; makes those that are missing and wraps those that are not.
     *
     * @throws ConfigError when another master key wraps them
     */
    open: async (): Promise<void> => {
      for (const name of keyNames) await secret(name);
    },
  };
}

/**
 * Wraps every key by `next` in place of `current`, and answers how many there were to wrap; what an earlier run has wrapped stays.
 *
 * @throws ConfigError when neither wraps a key
 */
export function rewrapKeys(db: Db, { current, next }: { current: KeyObject; next: KeyObject }): Promise<number> {
  const keys: Keys = db.collection('keys');
  return inStore(async () => {
    const records = await keys.find({}, { maxTimeMS }).toArray();
    const old = records.filter((record) => !('wrappedBy' in record) || record.wrappedBy !== fingerprintOf(next));
    for (const record of old) {
      const key = 'wrapped' in record ? unwrapped(current, record) : createSecretKey(record.key.buffer);
      await keys.replaceOne({ _id: record._id }, { createdAt: record.createdAt, ...wrapped(next, record._id, key) });
    }
    return old.length;
  });
}
