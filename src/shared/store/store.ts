import type { Db } from 'mongodb';
import { ServiceError } from '../domain/service-error.ts';
import type { Config } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';
import { answerWithin, untilDone } from '../runtime/timers.ts';
import { createBatchStore } from './batches.ts';
import { createBlockedRecipientStore } from './blocked-recipients.ts';
import { createCertificateSetStore } from './certificate-sets.ts';
import { connectStore, createNote, inStore } from './connection.ts';
import { createCounterStore } from './counters.ts';
import { collectionsOfSubjects, createEvidenceTermStore } from './evidence-terms.ts';
import { createIdempotencyStore } from './idempotency.ts';
import { createKeyStore } from './keys.ts';
import { createListingStore } from './listings.ts';
import { createNewDigestStore } from './new-digests.ts';
import { createOutputStore } from './outputs.ts';
import { createRefusalStore } from './refusals.ts';
import { createRenewalStore } from './renewals.ts';
import { createSealedContentStore } from './sealed-content.ts';
import { createStampStore } from './stamps.ts';
import { renewByField } from './stored-evidence.ts';
import { createTrustedListStore } from './trusted-lists.ts';
import { createWorkflowStore } from './workflows.ts';

/** How long a process that stops tries to write its counters, in milliseconds. */
const longestFarewellMs = 1_000;

/** The pause between tries while MongoDB is away, in milliseconds. */
const retryMs = 2_000;

function throwUnlessAway(error: unknown): void {
  if (!(error instanceof ServiceError)) throw error;
}

export type Store = ReturnType<typeof openStore>;

/** Opens the store: all data in MongoDB. Reads and writes throw ServiceError `store_unavailable` if MongoDB does not answer (`inStore`). */
export function openStore({ MONGODB_URL, MASTER_KEY }: Pick<Config, 'MONGODB_URL' | 'MASTER_KEY'>, log: Logger) {
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
    trustedLists: createTrustedListStore(db),
    listings: createListingStore(db),
    blockedRecipients: createBlockedRecipientStore(db),
    ping: async (): Promise<void> => void (await inStore(() => db.command({ ping: 1, maxTimeMS: 1_000 }))),
    /** Writes a small value to check that MongoDB accepts writes: it may answer and still be full or read-only. */
    checkWrite: () => lastCheck.write(new Date()),
    /**
     * Opens the keys of the service. If MongoDB is down, it does not wait, and the keys are opened when they are needed. If MongoDB answers later and
     * this version cannot read the database, the process ends.
     *
     * @throws ConfigError if this version cannot read the database, or the keys are encrypted with another master key
     */
    openKeys: async (): Promise<void> => {
      try {
        await keys.open();
      } catch (error) {
        throwUnlessAway(error);
        log.warn({ err: error }, 'the keys in MongoDB cannot be opened yet; they will be opened when they are needed');
        // Nothing handles the rejection with a ConfigError, so it ends the process (`runProcess`).
        void untilDone(retryMs, keys.open, { signal: closing.signal, onFailed: throwUnlessAway });
      }
    },
    /** As soon as MongoDB is reachable, makes the indexes, which only speed up reads. */
    prepare: () =>
      untilDone(retryMs, () => inStore(() => createIndexes(db)), {
        signal: closing.signal,
        onFailed: (error) => log.warn({ err: error }, 'the indexes of MongoDB cannot be prepared yet; trying again'),
      }),
    close: async (): Promise<void> => {
      closing.abort();
      await answerWithin(longestFarewellMs, counters.close);
      await close();
    },
  };
}

/** Makes all indexes of the database. It may be called again. */
async function createIndexes(db: Db): Promise<void> {
  // The index is partial and not sparse: in DocumentDB, a sparse index doubles the insert cost of a stamp without this member.
  await db
    .collection('stamps')
    .createIndex({ tokenDigest: 1 }, { name: 'rfc3161_token', partialFilterExpression: { tokenDigest: { $exists: true } } });
  await db
    .collection('stamps')
    .createIndex(
      { 'caller.product': 1, _id: 1 },
      { name: 'product_stamps', partialFilterExpression: { 'caller.product': { $exists: true } } },
    );
  await db.collection('batches').createIndex({ tokenDigest: 1 });
  for (const subjects of Object.values(collectionsOfSubjects(db))) {
    // All stamps under one certificate have the same `renewBy`. With `_id` the index entries are different, which halves their cost in DocumentDB
    // (docs/reference/adr/0006-what-an-insert-costs.md).
    await subjects.createIndex({ [renewByField]: 1, _id: 1 }, { partialFilterExpression: { [renewByField]: { $exists: true } } });
  }
  await db.collection('listings').createIndex({ signer: 1, firstAt: -1 });
  await db.collection('outputs').createIndex({ workflowId: 1, hash: 1 });
  await db.collection('idempotency').createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
}
