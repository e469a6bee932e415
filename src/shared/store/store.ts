import type { Logger } from '../runtime/log.ts';
import { connectStore } from './connection.ts';
import { type CounterStore, createCounterStore } from './counters.ts';
import { inStore } from './errors.ts';
import { createIdempotencyStore, type IdempotencyStore } from './idempotency.ts';
import { ensureIndexes } from './indexes.ts';
import { createKeyStore, type KeyStore } from './keys.ts';
import { createOutputStore, type OutputStore } from './outputs.ts';
import { createSealedContentStore, type SealedContentStore } from './sealed-content.ts';
import { createStampStore, type StampStore } from './stamps.ts';
import { createWorkflowStore, type WorkflowStore } from './workflows.ts';

/** Everything that is kept in MongoDB. */
export interface Store {
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly sealedContents: SealedContentStore;
  readonly idempotency: IdempotencyStore;
  readonly keys: KeyStore;
  readonly workflows: WorkflowStore;
  readonly outputs: OutputStore;
  /** @throws ServiceError `store_unavailable` when the store does not answer. */
  ping(): Promise<void>;
  /** Writes something small. @throws ServiceError `store_unavailable` when that is not possible: a store that answers may be full or read-only. */
  checkWrite(): Promise<void>;
  /** Makes the indexes, as soon as the store can be reached; they only make reading fast. */
  ensureIndexes(): Promise<void>;
  close(): Promise<void>;
}

export function openStore(url: string, log: Logger): Store {
  const { db, close } = connectStore(url, log);
  const closing = new AbortController();
  const checks = db.collection<{ _id: string; at?: Date }>('checks');
  return {
    stamps: createStampStore(db),
    counters: createCounterStore(db),
    sealedContents: createSealedContentStore(db),
    idempotency: createIdempotencyStore(db),
    keys: createKeyStore(db),
    workflows: createWorkflowStore(db),
    outputs: createOutputStore(db),
    ping: async () => void (await inStore(() => db.command({ ping: 1, maxTimeMS: 1_000 }))),
    checkWrite: async () => void (await inStore(() => checks.updateOne({ _id: 'write' }, { $set: { at: new Date() } }, { upsert: true }))),
    ensureIndexes: () => ensureIndexes(db, { signal: closing.signal, log }),
    close: async () => {
      closing.abort();
      await close();
    },
  };
}
