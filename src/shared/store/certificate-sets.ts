import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Binary, type Collection, type Db } from 'mongodb';
import { bytesOf } from './binary.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertIfAbsent } from './insert.ts';

/** What an id stands for never changes, so a process remembers so many sets. A TSA has one, and another when its certificate ends. */
const mostRemembered = 256;

interface CertificateSetDocument {
  readonly _id: string;
  readonly der: Binary;
}

export type CertificateSetStore = ReturnType<typeof createCertificateSetStore>;

/** Certificates as they stand in tokens, by the SHA-256 of their octets: the tokens of a TSA have the same ones, which are kept once. */
export function createCertificateSetStore(db: Db) {
  const collection: Collection<CertificateSetDocument> = db.collection('certificate_sets');
  const remembered = new LRUCache<string, Buffer>({ max: mostRemembered });

  async function insert(id: string, der: Buffer): Promise<void> {
    await inStore(() => insertIfAbsent(collection, { _id: id, der: new Binary(der) }));
    remembered.set(id, Buffer.from(der));
  }

  return {
    /** Writes those that are not there yet. */
    insertOnce: async (sets: ReadonlyMap<string, Buffer>): Promise<void> => {
      await Promise.all([...sets].map(([id, der]) => (remembered.has(id) ? undefined : insert(id, der))));
    },
    /** By their ids; absent are those that are unknown or damaged. */
    findMany: async (ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>> => {
      const sets = new Map<string, Buffer>();
      const unknown: string[] = [];
      for (const id of new Set(ids)) {
        const der = remembered.get(id);
        if (der) sets.set(id, der);
        else unknown.push(id);
      }
      if (unknown.length === 0) return sets;
      const found = await inStore(() => collection.find({ _id: { $in: unknown } }, { maxTimeMS }).toArray());
      for (const { _id, der: stored } of found) {
        const der = stored instanceof Binary ? bytesOf(stored) : undefined;
        if (!der || hash('sha256', der, 'hex') !== _id) continue;
        remembered.set(_id, der);
        sets.set(_id, der);
      }
      return sets;
    },
  };
}
