import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Binary, type Collection, type Db } from 'mongodb';
import { bytesOf, inStore, insertIfAbsent, maxTimeMS } from './connection.ts';

/** The number of sets that a process caches. A set never changes. A TSA has one set, and gets another when its certificate expires. */
const mostRemembered = 256;

interface CertificateSetDocument {
  readonly _id: string;
  readonly der: Binary;
}

export type CertificateSetStore = ReturnType<typeof createCertificateSetStore>;

/** Stores the certificate sets of tokens, by the SHA-256 of their octets. The tokens of a TSA share one set, so it is stored once. */
export function createCertificateSetStore(db: Db) {
  const collection: Collection<CertificateSetDocument> = db.collection('certificate_sets');
  const remembered = new LRUCache<string, Buffer>({ max: mostRemembered });

  async function insert(id: string, der: Buffer): Promise<void> {
    await inStore(() => insertIfAbsent(collection, { _id: id, der: new Binary(der) }));
    remembered.set(id, Buffer.from(der));
  }

  return {
    /** Writes the sets that do not exist yet. */
    insertOnce: async (sets: ReadonlyMap<string, Buffer>): Promise<void> => {
      await Promise.all([...sets].map(([id, der]) => (remembered.has(id) ? undefined : insert(id, der))));
    },
    /** Finds sets by id. Unknown and damaged sets are absent from the result. */
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
