import type { KeyObject } from 'node:crypto';
import type { Collection, Db, Document, Filter, UpdateFilter, UpdateResult } from 'mongodb';
import { maxWrongTries } from '../domain/challenge.ts';
import type { CommitmentSalts } from '../domain/commitment.ts';
import type { LinkMailState, WorkflowSnapshot } from '../domain/workflow-state.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';
import {
  type ChainSum,
  documentOf,
  encryptSalts,
  encryptWords,
  type NewWorkflow,
  plainWordsOf,
  recordOf,
  type StoredClosingRecord,
  type WorkflowDocument,
  type WorkflowRecord,
} from './workflow-document.ts';

export type { ChainSum, NewWorkflow, StoredClosingRecord, WorkflowRecord } from './workflow-document.ts';

/** The input of the rules in `domain/workflow-state.ts`. */
export const snapshotOf = ({ status, emailVerifiedAt, tier, expiresAt, redactedAt }: WorkflowRecord): WorkflowSnapshot => ({
  status,
  isEmailVerified: emailVerifiedAt !== undefined,
  tier,
  expiresAtMs: expiresAt.getTime(),
  isRedacted: redactedAt !== undefined,
});

export function linkMailStateOf({ mail }: Pick<WorkflowRecord, 'mail'>): LinkMailState {
  if (mail?.sentAt) return 'sent';
  return mail?.failedAt ? 'failed' : 'waiting';
}

/** Matches the workflow while its address can still be confirmed. */
const confirmable = (workflowId: string, now: Date) => ({
  _id: workflowId,
  status: 'pending' as const,
  expiresAt: { $gt: now },
  redactedAt: { $exists: false },
});

/** Matches the workflow while this challenge is the current one. */
const counting = (challengeId: string) => ({ $or: [{ challengeId }, { challengeId: { $exists: false } }] });

/** In a pipeline: a list with the digest of the current challenge, or an empty list. */
const offeredDigests = { $cond: [{ $gt: ['$challenge.digest', null] }, ['$challenge.digest'], []] };

export type WorkflowStore = ReturnType<typeof createWorkflowStore>;

/**
 * Every transition is one atomic step on one document. The result is undefined or null if the workflow's state does not allow it.
 *
 * @param serviceKey encrypts the key of each workflow
 */
export function createWorkflowStore(db: Db, serviceKey: () => Promise<KeyObject>) {
  const workflows: Collection<WorkflowDocument> = db.collection('workflows');

  /** The decrypted workflow that an operation found, or null. */
  async function read(operation: (key: KeyObject) => Promise<WorkflowDocument | null>): Promise<WorkflowRecord | null> {
    const key = await serviceKey();
    const document = await inStore(() => operation(key));
    return document && recordOf(key, document);
  }

  /** Encrypts the plain data of version 0.2.0; a redaction in between wins. */
  async function encryptPlain(key: KeyObject, document: WorkflowDocument): Promise<WorkflowDocument | null> {
    const words = plainWordsOf(document);
    if (!words) return document;
    const { _id } = document;
    await workflows.updateOne(
      { _id, wrappedKey: { $exists: false }, redactedAt: { $exists: false } },
      { $set: encryptWords(key, _id, words), $unset: { email: '', agentId: '', briefingMetadata: '' } },
    );
    return workflows.findOne({ _id }, { maxTimeMS });
  }

  const find = (workflowId: string): Promise<WorkflowRecord | null> =>
    read(async (key) => {
      const document = await workflows.findOne({ _id: workflowId }, { maxTimeMS });
      return document && encryptPlain(key, document);
    });

  /** Changes a workflow in one step. Returns its new state, or null if the filter finds none. */
  const change = (filter: Filter<WorkflowDocument>, update: UpdateFilter<WorkflowDocument> | Document[]): Promise<WorkflowRecord | null> =>
    read(() => workflows.findOneAndUpdate(filter, update, { returnDocument: 'after', maxTimeMS }));

  /** The same without returning the new state. */
  const update = (filter: Filter<WorkflowDocument>, fields: UpdateFilter<WorkflowDocument>): Promise<UpdateResult> =>
    inStore(() => workflows.updateOne(filter, fields));

  return {
    /** Writes a new workflow in state `pending`, unless its id exists: then the stored one stays. */
    create: async (workflow: NewWorkflow): Promise<{ stored: WorkflowRecord; isNew: boolean }> => {
      const key = await serviceKey();
      const document = documentOf(key, workflow);
      return inStore(async () => {
        try {
          await workflows.insertOne(document);
          return { stored: recordOf(key, document), isNew: true };
        } catch (error) {
          const stored = isDuplicateKey(error) && (await workflows.findOne({ _id: workflow._id }, { maxTimeMS }));
          if (!stored) throw error;
          return { stored: recordOf(key, stored), isNew: false };
        }
      });
    },
    find,
    /** Removes a workflow whose start could not be answered. */
    remove: async (workflowId: string): Promise<void> => {
      await inStore(() => workflows.deleteOne({ _id: workflowId }));
    },
    /**
     * Stores the digest of the challenge before it is mailed, and returns the workflow; wrong tries stay counted. Null if the challenge was
     * replaced.
     */
    offerChallenge: (
      workflowId: string,
      { challengeId, digest, expiresAt }: { challengeId: string; digest: string; expiresAt: Date },
      now: Date,
    ): Promise<WorkflowRecord | null> =>
      change({ ...confirmable(workflowId, now), ...counting(challengeId) }, [
        {
          $set: {
            challenge: { digest, expiresAt, wrongTries: { $ifNull: ['$challenge.wrongTries', 0] } },
            'mail.attempts': { $add: [{ $ifNull: ['$mail.attempts', 0] }, 1] },
          },
        },
      ]),
    /** Replaces the current challenge with this one, and resets the state of the mail (W6). Returns the new state of the workflow. */
    replaceChallenge: async (workflowId: string, challengeId: string, now: Date): Promise<WorkflowRecord | null> => {
      const replaced = await change({ ...confirmable(workflowId, now), challengeId: { $ne: challengeId } }, [
        { $set: { challengeId, formerChallenges: { $concatArrays: [{ $ifNull: ['$formerChallenges', []] }, offeredDigests] } } },
        { $unset: ['challenge', 'mail'] },
      ]);
      return replaced ?? find(workflowId);
    },
    /** Records nothing about the mail of a replaced challenge. */
    recordMail: async (
      workflowId: string,
      challengeId: string,
      outcome: { sentAt: Date } | { failedAt: Date; fault: string } | { fault: string },
    ): Promise<void> => {
      const fields = Object.fromEntries(Object.entries(outcome).map(([name, value]) => [`mail.${name}`, value]));
      await update({ _id: workflowId, ...counting(challengeId) }, { $set: fields });
    },
    /**
     * Uses the challenge, or counts a wrong try, in one step. Returns the new state of the workflow; null if no challenge can be answered.
     */
    answerChallenge: (workflowId: string, digest: string, now: Date): Promise<WorkflowRecord | null> => {
      const isRight = { $eq: ['$challenge.digest', digest] };
      const open = {
        ...confirmable(workflowId, now),
        formerChallenges: { $ne: digest },
        'challenge.usedAt': { $exists: false },
        'challenge.wrongTries': { $lt: maxWrongTries },
        'challenge.expiresAt': { $gt: now },
      };
      const answered = {
        status: { $cond: [isRight, 'active', '$status'] },
        emailVerifiedAt: { $cond: [isRight, now, '$emailVerifiedAt'] },
        'challenge.usedAt': { $cond: [isRight, now, '$challenge.usedAt'] },
        'challenge.wrongTries': { $cond: [isRight, '$challenge.wrongTries', { $add: ['$challenge.wrongTries', 1] }] },
      };
      return change(open, [{ $set: answered }]);
    },
    /** Closes a workflow that has not expired by `now`, with the id of the root's future stamp; a closed one is returned unchanged. */
    beginClosing: async (workflowId: string, rootTokenId: string, now: Date): Promise<WorkflowRecord | null> => {
      const closed = await change(
        { _id: workflowId, status: { $in: ['pending', 'active'] }, expiresAt: { $gt: now } },
        { $set: { status: 'closing', closing: { rootTokenId, at: now } }, $unset: { challenge: '' } },
      );
      if (closed) return closed;
      const stored = await find(workflowId);
      return stored?.closing ? stored : null;
    },
    setRoot: async (workflowId: string, root: ChainSum): Promise<void> => {
      await update({ _id: workflowId }, { $set: { root } });
    },
    /**
     * Writes the closing record, unless one exists, and returns the new state of the workflow. Its salts are encrypted with the workflow's key, or
     * not stored if the workflow was redacted meanwhile.
     */
    setClosingRecord: async (
      { _id: workflowId, wordsKey }: WorkflowRecord,
      record: StoredClosingRecord,
      salts: CommitmentSalts | undefined,
    ): Promise<WorkflowRecord | null> => {
      await inStore(async () => {
        const unwritten = { _id: workflowId, closingRecord: { $exists: false } };
        if (wordsKey && salts) {
          const encryptedSalts = encryptSalts(wordsKey, workflowId, salts);
          const unredacted = { ...unwritten, redactedAt: { $exists: false } };
          await workflows.updateOne(unredacted, { $set: { closingRecord: record, encryptedSalts } });
        }
        await workflows.updateOne(unwritten, { $set: { closingRecord: record } });
      });
      return find(workflowId);
    },
    countRootFailure: async (workflowId: string): Promise<void> => {
      await update({ _id: workflowId }, { $inc: { rootFailures: 1 } });
    },
    /** Whether this call completed it. */
    complete: async (workflowId: string, completedAt: Date): Promise<boolean> => {
      const { modifiedCount } = await update({ _id: workflowId, status: 'closing' }, { $set: { status: 'completed', completedAt } });
      return modifiedCount === 1;
    },
    /** Destroys the workflow's key, and so the address, the agent's id and the caller's metadata; deletes the challenge. */
    redact: async (workflowId: string, now: Date): Promise<void> => {
      const forgotten = {
        wrappedKey: '',
        words: '',
        encryptedSalts: '',
        email: '',
        agentId: '',
        briefingMetadata: '',
        challenge: '',
        formerChallenges: '',
      } as const;
      await update({ _id: workflowId, redactedAt: { $exists: false } }, { $set: { redactedAt: now }, $unset: forgotten });
    },
  };
}
