import { ServiceError } from '../domain/service-error.ts';
import { answerWithin } from '../runtime/answer-within.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Config } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';
import { type BatchStore, createBatchStore } from './batches.ts';
import { createCertificateSetStore } from './certificate-sets.ts';
import { connectStore } from './connection.ts';
import { type CounterStore, createCounterStore } from './counters.ts';
import { inStore } from './errors.ts';
import { createEvidenceTermStore, type EvidenceTermStore } from './evidence-terms.ts';
import { createIdempotencyStore, type IdempotencyStore } from './idempotency.ts';
import { createIndexes, prepareDatabase } from './indexes.ts';
import { createKeyStore, type KeyStore } from './keys.ts';
import { createNewDigestStore, type NewDigestStore } from './new-digests.ts';
import { createNote } from './notes.ts';
import { createOutputStore, type OutputStore } from './outputs.ts';
import { createRefusalStore, type RefusalStore } from './refusals.ts';
import { createRenewalStore, type RenewalStore } from './renewals.ts';
import { createSealedContentStore, type SealedContentStore } from './sealed-content.ts';
import { createStampStore, type StampStore } from './stamps.ts';
import { createWorkflowStore, type WorkflowStore } from './workflows.ts';

/** A store that is away does not keep a process from stopping, milliseconds. */
const longestFarewellMs = 1_000;

/** Everything that is kept in MongoDB. */
export interface Store {
  readonly stamps: StampStore;
  readonly batches: BatchStore;
  readonly renewals: RenewalStore;
  readonly evidenceTerms: EvidenceTermStore;
  readonly newDigests: NewDigestStore;
  readonly refusals: RefusalStore;
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
  /**
   * Opens the keys of the service. A store that is away is waited for by nobody: they are opened when they are needed.
   *
   * @throws ConfigError when they are wrapped by another master key
   */
  openKeys(): Promise<void>;
  /** Makes the indexes, which only make reading fast, and takes over the counters of earlier versions, as soon as the store can be reached. */
  prepare(): Promise<void>;
  close(): Promise<void>;
}

export function openStore({ MONGODB_URL, MASTER_KEY }: Pick<Config, 'MONGODB_URL' | 'MASTER_KEY'>, log: Logger): Store {
  const { db, close } = connectStore(MONGODB_URL, log);
  const keys = createKeyStore(db, MASTER_KEY);
  const renewals = createRenewalStore(db);
  const batches = createBatchStore(db, renewals);
  const counters = createCounterStore(db, { batches, log });
  const closing = new AbortController();
  const lastCheck = createNote<Date>(db, 'write', 'at');
  return {
    stamps: createStampStore(db, batches, renewals, createCertificateSetStore(db)),
    batches,
    renewals,
    evidenceTerms: createEvidenceTermStore(db),
    newDigests: createNewDigestStore(db),
    refusals: createRefusalStore(db),
    counters,
    sealedContents: createSealedContentStore(db),
    idempotency: createIdempotencyStore(db),
    keys,
    workflows: createWorkflowStore(db, () => keys.secret('workflows')),
    outputs: createOutputStore(db),
    ping: async () => void (await inStore(() => db.command({ ping: 1, maxTimeMS: 1_000 }))),
    checkWrite: () => lastCheck.write(new Date()),
    openKeys: async () => {
      try {
        await keys.open();
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        log.warn({ err: error }, 'the keys in the store cannot be opened yet');
      }
    },
    prepare: () =>
      prepareDatabase(() => counters.upgrade(systemClock()).then(() => inStore(() => createIndexes(db))), { signal: closing.signal, log }),
    close: async () => {
      closing.abort();
      await answerWithin(longestFarewellMs, counters.close);
      await close();
    },
  };
}
