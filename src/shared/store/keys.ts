import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import { inStore, isDuplicateKey } from './errors.ts';

interface KeyRecord {
  readonly _id: string;
  readonly key: Binary;
  readonly createdAt: Date;
}

/** Keys of the service itself, made once for a database and shared by every process on it. */
export interface KeyStore {
  /** The 256-bit secret of that name; whoever asks first makes it. Read once in a process. */
  secret(name: 'mock-provider' | 'idempotency' | 'challenge'): Promise<KeyObject>;
}

export function createKeyStore(db: Db): KeyStore {
  const keys: Collection<KeyRecord> = db.collection('keys');
  const known = new Map<string, KeyObject>();

  async function load(name: string): Promise<KeyObject> {
    const existing = await keys.findOne({ _id: name });
    if (existing) return createSecretKey(existing.key.buffer);
    try {
      await keys.insertOne({ _id: name, key: new Binary(randomBytes(32)), createdAt: new Date() });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    return load(name);
  }

  return {
    secret: async (name) => {
      const cached = known.get(name);
      if (cached) return cached;
      const key = await inStore(() => load(name));
      known.set(name, key);
      return key;
    },
  };
}
